// Lets the user interrupt turns of the agent.

#include <ATen/ATen.h>

#include <algorithm>

#include "loader/augment_batch.h"

namespace s2s::data {
namespace {

/// A turn of the agent, and the words after which it can be interrupted.
struct LongTurn {
  int64_t end = 0;  // frame of its EOS
  std::vector<int64_t> words;
};

/// Finds turns with a word more than `overlap` frames before their EOS. tokens: int64 [T] on the
/// CPU.
std::vector<LongTurn> long_turns(const at::Tensor& tokens_T, const InterruptionRules& rules) {
  const auto* const begin = tokens_T.const_data_ptr<int64_t>();
  const auto* const end = begin + tokens_T.numel();
  std::vector<LongTurn> turns;
  for (const auto* bos = std::find(begin, end, rules.ids.bos); bos != end;
       bos = std::find(bos + 1, end, rules.ids.bos)) {
    const auto* const eos = std::find(bos + 1, end, rules.ids.eos);
    if (eos == end) continue;
    LongTurn turn{eos - begin, {}};
    for (const auto* word = bos + 1; word < eos; ++word) {
      if (*word != rules.ids.pad && eos - word > rules.overlap_tokens) {
        turn.words.push_back(word - begin);
      }
    }
    if (!turn.words.empty()) turns.push_back(std::move(turn));
  }
  return turns;
}

/// Moves the elements [from, end) to `to`.
void move_to_front(at::Tensor row_T, int64_t from, int64_t end, int64_t to) {
  if (end <= from) return;
  row_T.slice(0, to, to + end - from).copy_(row_T.slice(0, from, end).clone());
}

void fill_end(at::Tensor row_T, int64_t count, int64_t pad) {
  row_T.slice(0, std::max<int64_t>(row_T.size(0) - count, 0)).fill_(pad);
}

}  // namespace

void interrupt_early(Batch& batch, int64_t b, const InterruptionRules& rules,
                     AugmentationDraws& draws) {
  at::Tensor agent_T = batch.target_tokens_BT[b], user_T = batch.source_tokens_BT[b];
  const std::vector<LongTurn> turns = long_turns(agent_T.contiguous(), rules);
  if (turns.empty()) return;
  const LongTurn& turn = turns[draws.python.choice(turns.size())];
  const int64_t cut = turn.words[draws.python.choice(turn.words.size())];
  const int64_t removed = turn.end - cut;
  const int64_t end = std::min(cut + rules.overlap_tokens, turn.end);

  agent_T[end].fill_(rules.ids.eos);
  move_to_front(agent_T, turn.end + rules.overlap_tokens + 1, agent_T.size(0), end + 1);
  fill_end(agent_T, removed, rules.ids.pad);
  move_to_front(user_T, turn.end + 1, user_T.size(0), cut + 1);
  fill_end(user_T, removed, rules.ids.pad);

  at::Tensor audio_S = batch.source_audio_BS[b];
  const int64_t length = batch.source_audio_lens_B[b].item<int64_t>();
  const auto sample_of = [&](int64_t frame) {
    return std::min(static_cast<int64_t>(static_cast<double>(frame) * rules.frame_length_s *
                                         static_cast<double>(rules.sample_rate_hz)),
                    length);
  };
  const int64_t to = sample_of(cut), from = sample_of(turn.end);
  move_to_front(audio_S, from, length, to);
  const int64_t silent = to + std::max<int64_t>(length - from, 0);
  audio_S.slice(0, silent, std::min(silent + from - to, audio_S.size(0))).zero_();
}

}  // namespace s2s::data

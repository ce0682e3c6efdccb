#include "answer_metrics.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdlib>

#include "training_step.h"

namespace s2s::duplex_stt {
namespace {

constexpr int64_t kToleranceFrames = 13;

/// Returns the first position of a token in a row [T] on the CPU, or the width if it has none.
int64_t first_of(const at::Tensor& row_T, int64_t token) {
  const auto* const begin = row_T.const_data_ptr<int64_t>();
  return std::find(begin, begin + row_T.numel(), token) - begin;
}

at::Tensor on_host(const at::Tensor& tokens_BT) {
  return tokens_BT.to(at::kCPU, at::kLong).contiguous();
}

/// Counts rows that have only special tokens.
int64_t count_empty(const DecodedTokens& decoded, const SpecialIds& ids) {
  const at::Tensor& user_BT = decoded.user_BT;
  at::Tensor is_word_BT = user_BT.ne(ids.pad).logical_and(user_BT.ne(ids.bos));
  is_word_BT = is_word_BT.logical_and(user_BT.ne(ids.eos));
  const at::Tensor t_1T = at::arange(user_BT.size(1), decoded.lens_B.options()).unsqueeze(0);
  is_word_BT = is_word_BT.logical_and(t_1T.lt(decoded.lens_B.unsqueeze(1)));
  return user_BT.size(0) - is_word_BT.any(1).sum().item<int64_t>();
}

}  // namespace

TurnTaking count_turn_taking(const at::Tensor& user_BT, const at::Tensor& agent_BT,
                             const SpecialIds& ids, double frame_length_s) {
  TurnTaking counts;
  const at::Tensor user = on_host(user_BT), agent = on_host(agent_BT);
  for (int64_t b = 0; b < user.size(0); ++b) {
    const int64_t end = first_of(user[b], ids.eos);
    if (end == user.size(1)) continue;
    ++counts.turns;
    const int64_t begin = first_of(agent[b], ids.bos);
    if (begin == agent.size(1) || std::abs(begin - end) > kToleranceFrames) continue;
    ++counts.taken;
    counts.latency_s += static_cast<double>(begin - end) * frame_length_s;
  }
  return counts;
}

void add_answer_metrics(SttModel& model, const Batch& batch, MetricSums& sums) {
  const DecodedTokens decoded =
      decode(model, batch.source_audio_BS, batch.source_audio_lens_B, prompts_of(batch));
  const auto add = [&sums](const char* name, double sum, int64_t count) {
    auto& [total, number] = sums[name];
    total += sum;
    number += static_cast<double>(count);
  };
  if (batch.source_tokens_BT.defined()) {
    const TurnTaking counts = count_turn_taking(batch.source_tokens_BT, decoded.agent_BT,
                                                model.parts().ids, model.frame_length_s());
    add("turn_taking_acc", static_cast<double>(counts.taken), counts.turns);
    add("turn_taking_latency", counts.latency_s, counts.taken);
  }
  if (decoded.user_BT.defined()) {
    add("src_empty_text_rate", static_cast<double>(count_empty(decoded, model.parts().ids)),
        decoded.user_BT.size(0));
  }
}

}  // namespace s2s::duplex_stt

#include "window_search.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "s2s/nn/rows.h"

namespace s2s::whisper {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// [B, P] on the device.
at::Tensor as_rows(const std::vector<std::vector<int64_t>>& rows, at::Device device) {
  std::vector<at::Tensor> tensors;
  for (const std::vector<int64_t>& row : rows) tensors.push_back(at::tensor(row, at::kLong));
  return at::stack(tensors).to(device);
}

/// True for these ids, [V]. Ids that the vocabulary lacks do not count.
at::Tensor mask_of(const std::vector<int64_t>& ids, int64_t vocab_size, at::Device device) {
  std::vector<int64_t> known;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(known),
               [&](int64_t id) { return id >= 0 && id < vocab_size; });
  at::Tensor mask_V = at::zeros({vocab_size}, at::kBool);
  if (!known.empty()) mask_V.index_fill_(0, at::tensor(known, at::kLong), 1);
  return mask_V.to(device);
}

/// The ids that timestamps' rules allow a row: from `first` on, below `end`; of timestamps, those
/// from `earliest` on.
struct AllowedIds {
  int64_t first, end, earliest;
};

AllowedIds allowed_ids(const GenerationConfig& config, const std::vector<int64_t>& ids) {
  AllowedIds allowed{0, config.vocab_size, config.first_timestamp()};
  if (ids.empty()) {
    allowed.first = config.first_timestamp();
    if (config.max_initial_timestamp_index) {
      allowed.end = config.first_timestamp() + *config.max_initial_timestamp_index + 1;
    }
    return allowed;
  }
  const bool last = config.is_timestamp(ids.back());
  const bool before = ids.size() < 2 || config.is_timestamp(ids[ids.size() - 2]);
  if (last && before) allowed.end = config.first_timestamp();
  if (last && !before) allowed.first = config.eos_token_id;
  const auto latest =
      std::find_if(ids.rbegin(), ids.rend(), [&](int64_t id) { return config.is_timestamp(id); });
  if (latest != ids.rend()) allowed.earliest = last && !before ? *latest : *latest + 1;
  return allowed;
}

/// Timestamps come in pairs, later and later; one is written where they are likelier together than
/// any text. scores [B, V].
at::Tensor with_timestamp_rules(const at::Tensor& scores_BV, const GenerationConfig& config,
                                const std::vector<WindowText>& texts) {
  std::vector<int64_t> bounds;
  for (const WindowText& text : texts) {
    const AllowedIds allowed = allowed_ids(config, text.ids);
    bounds.insert(bounds.end(), {allowed.first, allowed.end, allowed.earliest});
  }
  const at::Tensor bounds_B3 = at::tensor(bounds, at::kLong).view({-1, 3}).to(scores_BV.device());
  const auto bound = [&](int64_t i) { return bounds_B3.select(1, i).unsqueeze(1); };
  const int64_t begin = config.first_timestamp();
  const at::Tensor id_V = at::arange(scores_BV.size(1), bounds_B3.options());
  const at::Tensor forbidden_BV = id_V.lt(bound(0))
                                      .logical_or(id_V.ge(bound(1)))
                                      .logical_or(id_V.ge(begin).logical_and(id_V.lt(bound(2))))
                                      .logical_or(id_V.eq(config.no_timestamps_token_id));
  const at::Tensor allowed_BV = scores_BV.masked_fill(forbidden_BV, kNever);
  const at::Tensor log_BV = at::log_softmax(allowed_BV, 1);
  const at::Tensor time_B = log_BV.slice(1, begin).logsumexp(1);
  const at::Tensor text_B = log_BV.slice(1, 0, begin).amax(1);
  const at::Tensor is_time_B1 = time_B.gt(text_B).unsqueeze(1);
  return allowed_BV.masked_fill(is_time_B1.logical_and(id_V.lt(begin)), kNever);
}

/// Whether windows are silent: <|nospeech|> is likely where the prompt begins, and what is written
/// is not. Source: transformers' WhisperNoSpeechDetection and _retrieve_avg_logprobs.
class SilenceRule {
 public:
  explicit SilenceRule(const GenerationConfig& config) : config_(config) {}

  /// Scores [B, U, V] of the prompt.
  void begin(const at::Tensor& scores_BUV) {
    if (!config_.no_speech_threshold) return;
    silence_B_ = at::softmax(scores_BUV.select(1, 0), 1, at::kFloat)
                     .select(1, config_.no_timestamps_token_id - 1);
  }
  /// Scores [B, V] of which the ids [B] were chosen.
  void add(const at::Tensor& scores_BV, const at::Tensor& id_B) {
    if (!config_.no_speech_threshold) return;
    steps_.push_back(at::log_softmax(scores_BV, 1).gather(1, id_B.unsqueeze(1)).squeeze(1));
  }
  /// counts: of the ids of each row that were chosen.
  void judge(const std::vector<int64_t>& counts, std::vector<WindowText>& texts) const {
    if (!config_.no_speech_threshold) return;
    const at::Tensor log_BU = at::stack(steps_, 1).cpu();
    const at::Tensor is_likely_B = silence_B_.gt(*config_.no_speech_threshold).cpu();
    for (size_t row = 0; row < texts.size(); ++row) {
      const auto b = static_cast<int64_t>(row);
      const double mean = log_BU[b].narrow(0, 0, counts[row]).mean().item<double>();
      texts[row].is_silent = mean < *config_.logprob_threshold && is_likely_B[b].item<bool>();
    }
  }

 private:
  const GenerationConfig& config_;
  at::Tensor silence_B_;
  std::vector<at::Tensor> steps_;
};

}  // namespace

std::vector<WindowText> write_windows(TextDecoder& decoder, const at::Tensor& frames_BTH,
                                      const std::vector<std::vector<int64_t>>& prompts,
                                      const std::vector<int64_t>& limits,
                                      const WindowSearch& search) {
  const GenerationConfig& config = search.config;
  const at::Device device = frames_BTH.device();
  const at::Tensor never_V = mask_of(config.suppress_tokens, config.vocab_size, device);
  const at::Tensor not_first_V = mask_of(config.begin_suppress_tokens, config.vocab_size, device);
  DecoderMemory memory = decoder.listen(frames_BTH);
  std::vector<WindowText> texts(prompts.size());
  std::vector<bool> is_done(prompts.size(), false);
  std::vector<at::Tensor> weights;  // [B, A, 1, T] of each id after the prompt
  std::vector<int64_t> num_chosen(prompts.size(), 0);
  SilenceRule silence(config);
  at::Tensor ids_BU = as_rows(prompts, device);
  for (bool is_first = true; std::count(is_done.begin(), is_done.end(), false) > 0;
       is_first = false) {
    const bool aligns = search.with_weights && !is_first;
    at::Tensor found;
    const at::Tensor scores_BUV =
        decoder.next_scores(ids_BU, memory, config.alignment_heads, aligns ? &found : nullptr);
    if (is_first) silence.begin(scores_BUV);
    at::Tensor scores_BV =
        scores_BUV.select(1, ids_BU.size(1) - 1)
            .to(at::kFloat)
            .masked_fill(is_first ? never_V.logical_or(not_first_V) : never_V, kNever);
    if (aligns) weights.push_back(found);
    if (search.with_timestamps) scores_BV = with_timestamp_rules(scores_BV, config, texts);
    const at::Tensor next_B = scores_BV.argmax(1);
    silence.add(scores_BV, next_B);
    std::vector<int64_t> next = to_vector(next_B);
    for (size_t row = 0; row < texts.size(); ++row) {
      if (is_done[row]) {
        next[row] = config.eos_token_id;
        continue;
      }
      ++num_chosen[row];
      if (next[row] != config.eos_token_id) texts[row].ids.push_back(next[row]);
      const auto length = static_cast<int64_t>(prompts[row].size() + texts[row].ids.size());
      is_done[row] = next[row] == config.eos_token_id || length >= limits[row];
    }
    ids_BU = at::tensor(next, at::kLong).unsqueeze(1).to(device);
  }
  silence.judge(num_chosen, texts);
  if (weights.empty()) return texts;
  const at::Tensor weights_BAUT = at::cat(weights, 2).cpu();
  for (size_t row = 0; row < texts.size(); ++row) {
    texts[row].weights_AUT =
        weights_BAUT[static_cast<int64_t>(row)].narrow(1, 0, num_chosen[row] - 1);
  }
  return texts;
}

std::vector<int64_t> detect_languages(TextDecoder& decoder, const at::Tensor& frames_BTH,
                                      const GenerationConfig& config) {
  std::vector<int64_t> languages;
  for (const auto& [token, id] : config.lang_to_id) languages.push_back(id);
  const at::Tensor is_language_V = mask_of(languages, config.vocab_size, frames_BTH.device());
  DecoderMemory memory = decoder.listen(frames_BTH);
  const at::Tensor start_B1 = at::full({frames_BTH.size(0), 1}, config.decoder_start_token_id,
                                       at::TensorOptions(at::kLong).device(frames_BTH.device()));
  const at::Tensor scores_BV = decoder.next_scores(start_B1, memory).select(1, 0);
  return to_vector(scores_BV.masked_fill(is_language_V.logical_not(), kNever).argmax(1));
}

}  // namespace s2s::whisper

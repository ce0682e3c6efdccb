#include "window_search.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "s2s/nn/rows.h"

namespace s2s::whisper {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// [B, P] on the device.
at::Tensor prompts_of(const std::vector<WindowTask>& tasks, at::Device device) {
  std::vector<at::Tensor> tensors;
  for (const WindowTask& task : tasks) tensors.push_back(at::tensor(task.prompt, at::kLong));
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

/// The next ids [B] on the CPU. Rows that are done get 0.
at::Tensor chosen(const at::Tensor& scores_BV, const std::vector<WindowTask>& tasks,
                  const std::vector<bool>& is_done, double temperature) {
  if (temperature == 0) return scores_BV.argmax(1).cpu();
  const at::Tensor chances_BV = at::softmax(scores_BV, 1).cpu();
  at::Tensor id_B = at::zeros({scores_BV.size(0)}, at::kLong);
  for (size_t row = 0; row < tasks.size(); ++row) {
    if (is_done[row]) continue;
    const auto b = static_cast<int64_t>(row);
    id_B[b] = at::multinomial(chances_BV[b], 1, /*replacement=*/false, tasks[row].random)[0];
  }
  return id_B;
}

/// Writes windows side by side, an id of each at a time.
class WindowWriter {
 public:
  WindowWriter(const std::vector<WindowTask>& tasks, const WindowSearch& search, double temperature)
      : tasks_(tasks),
        search_(search),
        temperature_(temperature),
        texts_(tasks.size()),
        is_done_(tasks.size(), false) {
    for (WindowText& text : texts_) text.temperature = temperature;
  }

  bool has_more() const { return std::count(is_done_.begin(), is_done_.end(), false) > 0; }
  /// The probabilities of <|nospeech|>, from scores [B, U, V] of the prompts.
  void note_silence(const at::Tensor& scores_BUV) {
    for (size_t row = 0; row < tasks_.size(); ++row) {
      const at::Tensor score_V =
          scores_BUV[static_cast<int64_t>(row)][static_cast<int64_t>(tasks_[row].num_earlier)];
      texts_[row].no_speech_probability =
          at::softmax(score_V, 0, at::kFloat)[search_.config.no_timestamps_token_id - 1]
              .item<double>();
    }
  }
  /// The next ids [B, 1] of scores [B, V], without those that are suppressed.
  at::Tensor next(at::Tensor scores_BV) {
    const GenerationConfig& config = search_.config;
    if (search_.with_timestamps) scores_BV = with_timestamp_rules(scores_BV, config, texts_);
    SamplingOptions sampling = config.sampling;
    sampling.temperature = temperature_;
    scores_BV = sampling_scores(scores_BV, {}, sampling);
    const at::Tensor id_B = chosen(scores_BV, tasks_, is_done_, temperature_);
    const double scale = temperature_ > 0 ? temperature_ : 1;
    const at::Tensor log_B = at::log_softmax(scores_BV * scale, 1)
                                 .gather(1, id_B.unsqueeze(1).to(scores_BV.device()))
                                 .squeeze(1)
                                 .cpu();
    std::vector<int64_t> next = to_vector(id_B);
    for (size_t row = 0; row < texts_.size(); ++row) {
      if (is_done_[row]) next[row] = config.eos_token_id;
      if (is_done_[row]) continue;
      add(row, next[row], log_B[static_cast<int64_t>(row)].item<double>());
    }
    return at::tensor(next, at::kLong).unsqueeze(1).to(scores_BV.device());
  }
  /// With how much each id attends [B, A, 1, T], step by step after the prompt.
  std::vector<WindowText> finish(const std::vector<at::Tensor>& weights) && {
    if (weights.empty()) return std::move(texts_);
    const at::Tensor weights_BAUT = at::cat(weights, 2).cpu();
    for (size_t row = 0; row < texts_.size(); ++row) {
      const auto count = static_cast<int64_t>(texts_[row].log_probabilities.size()) - 1;
      texts_[row].weights_AUT = weights_BAUT[static_cast<int64_t>(row)].narrow(1, 0, count);
    }
    return std::move(texts_);
  }

 private:
  void add(size_t row, int64_t id, double log_probability) {
    WindowText& text = texts_[row];
    const bool is_end = id == search_.config.eos_token_id;
    text.log_probabilities.push_back(log_probability);
    if (!is_end) text.ids.push_back(id);
    const auto length = static_cast<int64_t>(tasks_[row].prompt.size() + text.ids.size());
    is_done_[row] = is_end || length >= tasks_[row].limit;
  }

  const std::vector<WindowTask>& tasks_;
  const WindowSearch& search_;
  double temperature_;
  std::vector<WindowText> texts_;
  std::vector<bool> is_done_;
};

}  // namespace

double WindowText::sum_log_probability() const {
  return std::accumulate(log_probabilities.begin(), log_probabilities.end(), 0.0);
}

std::vector<WindowText> write_windows(TextDecoder& decoder, const at::Tensor& frames_BTH,
                                      const std::vector<WindowTask>& tasks,
                                      const WindowSearch& search, double temperature) {
  const GenerationConfig& config = search.config;
  const at::Device device = frames_BTH.device();
  const at::Tensor never_V = mask_of(config.suppress_tokens, config.vocab_size, device);
  const at::Tensor not_first_V = mask_of(config.begin_suppress_tokens, config.vocab_size, device);
  DecoderMemory memory = decoder.listen(frames_BTH);
  WindowWriter writer(tasks, search, temperature);
  std::vector<at::Tensor> weights;
  at::Tensor ids_BU = prompts_of(tasks, device);
  for (bool is_first = true; writer.has_more(); is_first = false) {
    const bool aligns = search.with_weights && !is_first;
    at::Tensor found;
    const at::Tensor scores_BUV =
        decoder.next_scores(ids_BU, memory, config.alignment_heads, aligns ? &found : nullptr);
    if (is_first && config.no_speech_threshold) writer.note_silence(scores_BUV);
    if (aligns) weights.push_back(found);
    ids_BU =
        writer.next(scores_BUV.select(1, ids_BU.size(1) - 1)
                        .to(at::kFloat)
                        .masked_fill(is_first ? never_V.logical_or(not_first_V) : never_V, kNever));
  }
  return std::move(writer).finish(weights);
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

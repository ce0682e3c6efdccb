#include "confidence.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "s2s/error.h"
#include "s2s/nn/rows.h"

namespace s2s::speech_recognizer {
namespace {

constexpr const char* kWordMark = "\u2581";
constexpr int64_t kStepsAtOnce = 4096;  // bounds the memory of long recordings

std::vector<double> doubles_of(const at::Tensor& numbers) {
  const at::Tensor host = numbers.to(at::kCPU, at::kDouble).contiguous();
  return {host.const_data_ptr<double>(), host.const_data_ptr<double>() + host.numel()};
}

/// Shannon's entropy, which all are with alpha 1.
at::Tensor shannon_confidence(const at::Tensor& x, double v, bool is_linear) {
  const at::Tensor negative = (x.exp() * x).sum(-1);
  return is_linear ? 1 + negative / std::log(v) : (negative.exp() * v - 1) / (v - 1);
}

at::Tensor gibbs_confidence(const at::Tensor& x, double v, double alpha, bool is_linear) {
  const at::Tensor negative = ((x * alpha).exp() * x).sum(-1);
  if (is_linear) return 1 + negative / std::log(v) / std::pow(v, 1 - alpha);
  const double least = std::pow(v, -alpha * std::pow(v, 1 - alpha));
  return ((negative * alpha).exp() - least) / (1 - least);
}

at::Tensor tsallis_confidence(const at::Tensor& x, double v, double alpha, bool is_linear) {
  const at::Tensor sum = (x * alpha).exp().sum(-1);
  if (is_linear) return 1 + (1 - sum) / (std::pow(v, 1 - alpha) - 1);
  const double least = std::exp((1 - std::pow(v, 1 - alpha)) / (1 - alpha));
  return (((1 - sum) / (1 - alpha)).exp() - least) / (1 - least);
}

at::Tensor renyi_confidence(const at::Tensor& x, double v, double alpha, bool is_linear) {
  const at::Tensor sum = (x * alpha).exp().sum(-1);
  if (is_linear) return 1 + sum.log2() / (alpha - 1) / std::log2(v);
  return (sum.pow(1 / (alpha - 1)) * v - 1) / (v - 1);
}

/// A step of a greedy search: the frame, and how many labels were found before it.
struct SearchStep {
  int64_t frame, labels;
};

/// The steps that each label's confidence is of, its own first.
std::vector<std::vector<SearchStep>> steps_of(const FoundLabels& found, int64_t length, bool is_tdt,
                                              bool exclude_blank) {
  std::vector<std::vector<SearchStep>> steps;
  for (size_t i = 0; i < found.labels.size(); ++i) {
    const auto count = static_cast<int64_t>(i);
    const int64_t frame = found.frames[i];
    const int64_t end = i + 1 < found.frames.size() ? found.frames[i + 1] : length;
    steps.push_back({{frame, count}});
    if (exclude_blank) continue;
    // In NeMo, the blank of a label's own frame counts in TDT models alone.
    const std::vector<int64_t>& blanks = found.blank_frames;
    const int64_t first = is_tdt ? frame : frame + 1;
    for (auto blank = std::lower_bound(blanks.begin(), blanks.end(), first);
         blank != blanks.end() && *blank < end; ++blank) {
      steps.back().push_back({*blank, count + 1});
    }
  }
  return steps;
}

/// Of all steps in their order. texts: the prediction network's projection after each label.
std::vector<double> step_confidences(const SearchedTransducer& searched, int64_t clip,
                                     const at::Tensor& texts_UJ,
                                     const std::vector<std::vector<SearchStep>>& steps,
                                     const ConfidenceOptions& options) {
  std::vector<int64_t> frames, labels;
  for (const auto& of_label : steps) {
    for (const SearchStep& step : of_label) {
      frames.push_back(step.frame);
      labels.push_back(step.labels);
    }
  }
  const at::Tensor frame_N = at::tensor(frames, at::kLong).to(texts_UJ.device());
  const at::Tensor label_N = at::tensor(labels, at::kLong).to(texts_UJ.device());
  const int64_t num_labels = searched.options.num_labels();
  const auto sure_of = [&](const at::Tensor& scores_NV) {
    return confidence_of(at::log_softmax(scores_NV, 1), options.method_cfg, num_labels);
  };
  std::vector<double> sure;
  for (int64_t begin = 0; begin < frame_N.size(0); begin += kStepsAtOnce) {
    const at::Tensor frames_NJ =
        searched.frames_ATJ[clip].index_select(0, frame_N.slice(0, begin, begin + kStepsAtOnce));
    const at::Tensor texts_NJ =
        texts_UJ.index_select(0, label_N.slice(0, begin, begin + kStepsAtOnce));
    const at::Tensor scores_NV =
        searched.decoder.joint(frames_NJ.unsqueeze(1), texts_NJ.unsqueeze(1)).flatten(0, 2);
    const std::vector<double> of_labels = doubles_of(sure_of(scores_NV.narrow(1, 0, num_labels)));
    std::vector<double> of_durations;
    if (options.tdt_include_duration && scores_NV.size(1) > num_labels) {
      of_durations = doubles_of(sure_of(scores_NV.slice(1, num_labels, scores_NV.size(1))));
    }
    for (size_t n = 0; n < of_labels.size(); ++n) {
      sure.push_back(of_durations.empty()
                         ? of_labels[n]
                         : aggregated({of_labels[n], of_durations[n]}, options.aggregation));
    }
  }
  return sure;
}

}  // namespace

at::Tensor confidence_of(const at::Tensor& log_probs, const ConfidenceMethodOptions& method,
                         int64_t num_labels) {
  const at::Tensor x = at::nan_to_num(log_probs);
  const auto v = static_cast<double>(num_labels);
  const double alpha = method.alpha;
  if (method.name == "max_prob") {
    const at::Tensor largest = x.amax(-1);
    if (alpha == 1) return (largest.exp() * v - 1) / (v - 1);
    return ((largest * alpha).exp() * std::pow(v, alpha) - 1) / (std::pow(v, alpha) - 1);
  }
  const bool is_linear = method.entropy_norm == "lin";
  if (alpha == 1) return shannon_confidence(x, v, is_linear);
  if (method.entropy_type == "gibbs") return gibbs_confidence(x, v, alpha, is_linear);
  if (method.entropy_type == "renyi") return renyi_confidence(x, v, alpha, is_linear);
  return tsallis_confidence(x, v, alpha, is_linear);
}

double aggregated(const std::vector<double>& values, const std::string& aggregation) {
  S2S_ASSERT(!values.empty(), "a word has labels");
  if (aggregation == "min") return *std::min_element(values.begin(), values.end());
  if (aggregation == "max") return *std::max_element(values.begin(), values.end());
  if (aggregation == "prod") {
    return std::accumulate(values.begin(), values.end(), 1.0, std::multiplies<>());
  }
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<std::vector<double>> ctc_confidences(const at::Tensor& log_probs_ATV,
                                                 const std::vector<FoundLabels>& found,
                                                 const std::vector<int64_t>& lengths,
                                                 const ConfidenceOptions& options) {
  const at::Tensor sure_AT =
      confidence_of(log_probs_ATV, options.method_cfg, log_probs_ATV.size(2)).cpu();
  const at::Tensor best_AT = log_probs_ATV.argmax(2).cpu();
  std::vector<std::vector<double>> all;
  for (size_t a = 0; a < found.size(); ++a) {
    const std::vector<double> sure = doubles_of(sure_AT[static_cast<int64_t>(a)]);
    const std::vector<int64_t> best = to_vector(best_AT[static_cast<int64_t>(a)]);
    const std::vector<int64_t>& frames = found[a].frames;
    all.emplace_back();
    for (size_t i = 0; i < frames.size(); ++i) {
      const int64_t next = i + 1 < frames.size() ? frames[i + 1] : lengths[a];
      int64_t end = frames[i] + 1;
      const auto is_of_label = [&](int64_t frame) {
        return !options.exclude_blank || best[static_cast<size_t>(frame)] == found[a].labels[i];
      };
      while (end < next && is_of_label(end)) ++end;
      all.back().push_back(
          aggregated({sure.begin() + frames[i], sure.begin() + end}, options.aggregation));
    }
  }
  return all;
}

std::vector<std::vector<double>> transducer_confidences(const SearchedTransducer& searched,
                                                        const std::vector<FoundLabels>& found,
                                                        const ConfidenceOptions& options) {
  std::vector<std::vector<double>> all;
  for (size_t a = 0; a < found.size(); ++a) {
    all.emplace_back();
    if (found[a].labels.empty()) continue;
    const auto steps = steps_of(found[a], searched.lengths[a], !searched.options.durations.empty(),
                                options.exclude_blank);
    const at::Tensor labels_1U = at::tensor(found[a].labels, at::kLong).unsqueeze(0);
    const at::Tensor texts_1UP =
        searched.decoder.predictions(labels_1U.to(searched.frames_ATJ.device()));
    const at::Tensor texts_UJ = searched.decoder.project_predictions(texts_1UP).squeeze(0);
    const std::vector<double> sure =
        step_confidences(searched, static_cast<int64_t>(a), texts_UJ, steps, options);
    auto next = sure.begin();
    for (const auto& of_label : steps) {
      const auto end = next + static_cast<std::ptrdiff_t>(of_label.size());
      all.back().push_back(aggregated({next, end}, options.aggregation));
      next = end;
    }
  }
  return all;
}

std::vector<std::pair<size_t, size_t>> word_labels(const std::vector<std::string>& pieces,
                                                   const std::string& unknown) {
  std::vector<std::pair<size_t, size_t>> words;
  size_t begin = 0;
  const auto end_word = [&](size_t end) {
    const bool is_mark = end == begin + 1 && pieces[begin] == kWordMark;
    if (end > begin && !is_mark) words.emplace_back(begin, end);
    begin = end;
  };
  for (size_t i = 0; i < pieces.size(); ++i) {
    const bool follows_unknown = i > 0 && !unknown.empty() && pieces[i - 1] == unknown;
    if (pieces[i].starts_with(kWordMark) || pieces[i] == unknown || follows_unknown) end_word(i);
    if (pieces[i] != " ") continue;
    end_word(i);
    begin = i + 1;
  }
  end_word(pieces.size());
  return words;
}

}  // namespace s2s::speech_recognizer

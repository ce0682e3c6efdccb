#include "eval/metrics/answer_metrics.h"

#include <algorithm>

namespace s2s {

const std::vector<AnswerMetric>& answer_metrics() {
  static const std::vector<AnswerMetric> kMetrics = {
      {"txt_bleu", false, true},          {"txt_wer", false, false},
      {"txt_exact", false, true},         {"asr_bleu", true, true},
      {"asr_wer", true, false},           {"asr_exact", true, true},
      {"takeover_rate", false, true},     {"latency_median_s", false, false},
      {"latency_p90_s", false, false},    {"pause_rate", false, false},
      {"stop_rate", false, true},         {"stop_latency_median_s", false, false},
      {"false_start_rate", false, false}, {"agent_speech_ratio", false, true},
  };
  return kMetrics;
}

const AnswerMetric* find_answer_metric(std::string_view name) {
  const auto& all = answer_metrics();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const AnswerMetric& metric) { return metric.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace s2s

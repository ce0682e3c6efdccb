#pragma once
// The numbers that are made of a model's answers, by name.

#include <string_view>
#include <vector>

namespace s2s {

struct AnswerMetric {
  std::string_view name;      // as DataSetBoard::numbers has it
  bool needs_scorer = false;  // it is made of what a listener hears
  bool is_larger_better = true;
};

/// Those of the model itself: what says how good codec and scorer are is left out.
/// Definitions: core/docs/reference/metrics.md.
const std::vector<AnswerMetric>& answer_metrics();

/// Null for another name.
const AnswerMetric* find_answer_metric(std::string_view name);

}  // namespace s2s

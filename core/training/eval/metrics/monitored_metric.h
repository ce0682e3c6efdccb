#pragma once
// Lists the metrics of a training run's validations, and checks `monitor` against them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/run_options.h"

namespace s2s {

struct AnswerMetric {
  std::string_view name;      // as in DataSetBoard::numbers
  bool needs_scorer = false;  // computed from the transcribed answers
  bool is_larger_better = true;
};

/// The metrics of the model itself. Scores of the codec and of the scorer are not included.
/// Definitions: core/docs/reference/metrics.md.
const std::vector<AnswerMetric>& answer_metrics();

/// Returns null for an unknown name.
const AnswerMetric* find_answer_metric(std::string_view name);

/// Returns how many batches of each set the model answers in a validation of a training run. 0: all
/// validated batches. Nothing: the model answers none, and only losses and accuracies are measured.
std::optional<int64_t> answered_batches(const RunOptions& settings);

/// Returns why exp_manager.checkpoint_callback_params.monitor cannot select the best checkpoint:
/// the run has no validations, the metric is not measured, or `mode` has the wrong direction.
/// Returns "" when it can, or when there is no monitor. `of_model`: Model::metric_names.
std::string monitor_fault(const RunOptions& settings, const std::vector<std::string>& of_model);

}  // namespace s2s

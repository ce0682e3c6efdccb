#pragma once
// Which numbers a training run's validations have, and whether `monitor` names one of them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/run_options.h"

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

/// The batches of each set that the model answers at a validation of a training run. 0: all that
/// are validated. Nothing: none, so that only losses and accuracies are measured.
std::optional<int64_t> answered_batches(const RunOptions& settings);

/// Why exp_manager.checkpoint_callback_params.monitor cannot find the best checkpoint: the run has
/// no validations, nothing of that name is measured, or `mode` has the wrong end. "" when it can,
/// and without a monitor. `of_model`: SpeechModel::metric_names.
std::string monitor_fault(const RunOptions& settings, const std::vector<std::string>& of_model);

}  // namespace s2s

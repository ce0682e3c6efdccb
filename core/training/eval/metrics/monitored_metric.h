#pragma once
// Lists the metrics of a training run's validations, and checks `monitor` against them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eval/metrics/named_metric.h"
#include "train/run_options.h"

namespace s2s {

/// Returns how many batches of each set the model answers in a validation of a training run. 0: all
/// validated batches. Nothing: the model answers none, and only losses and accuracies are measured.
std::optional<int64_t> answered_batches(const RunOptions& settings,
                                        const std::vector<NamedMetric>& metrics);

/// Returns why exp_manager.checkpoint_callback_params.monitor cannot select the best checkpoint:
/// the run has no validations, the metric is not measured, or `mode` has the wrong direction.
/// Returns "" when it can, or when there is no monitor. `of_model`: Model::metric_names.
std::string monitor_fault(const RunOptions& settings, const std::vector<NamedMetric>& metrics,
                          const std::vector<std::string>& of_model);

}  // namespace s2s

#pragma once
// Which numbers a training run's validations have, and whether `monitor` names one of them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/run_options.h"

namespace s2s {

/// The batches of each set that the model answers at a validation of a training run. 0: all that
/// are validated. Nothing: none, so that only losses and accuracies are measured.
std::optional<int64_t> answered_batches(const RunOptions& settings);

/// Why exp_manager.checkpoint_callback_params.monitor cannot find the best checkpoint: the run has
/// no validations, nothing of that name is measured, or `mode` has the wrong end. "" when it can,
/// and without a monitor. `of_model`: SpeechModel::metric_names.
std::string monitor_fault(const RunOptions& settings, const std::vector<std::string>& of_model);

}  // namespace s2s

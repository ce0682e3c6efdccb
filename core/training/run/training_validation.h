#pragma once
// The validations of a training.

#include "eval/validator.h"
#include "run/open_run.h"
#include "run/run_parts.h"

namespace s2s::run {

/// Whether the run has loggers.
bool has_loggers(const RunBuilder& builder);

/// Validates the model, and adds what only loggers use. The average of the weights is validated,
/// and an error in between ends the run.
ValidationReport validate(const OpenRun& run, const RunParts& parts, const Validator::Sets& sets,
                          Scorer* scorer, int64_t steps_done);

/// Validates a few batches before the first step of a new run, so that an error of the validation
/// does not wait for the first one.
void check_validation(const OpenRun& run, const RunParts& parts, const Validator::Sets& sets,
                      Scorer* scorer);

}  // namespace s2s::run

#pragma once
// The validations of a training.

#include "eval/validator.h"
#include "run/open_run.h"
#include "run/run_parts.h"

namespace s2s::run {

/// True if the run has loggers.
bool has_loggers(const RunBuilder& builder);

/// Validates the model, with the average of its weights if there is one. Adds what only loggers
/// use. An error ends the run, because the average may be swapped in.
ValidationReport validate(const OpenRun& run, const RunParts& parts, const Validator::Sets& sets,
                          Scorer* scorer, int64_t steps_done);

/// Validates a few batches before the first step of a new run, to find errors early.
void check_validation(const OpenRun& run, const RunParts& parts, const Validator::Sets& sets,
                      Scorer* scorer);

}  // namespace s2s::run

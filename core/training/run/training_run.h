#pragma once
// A training run: builds the parts, resumes, trains, leaves the run folder of the contract.

#include "run/run.h"
#include "s2s/error.h"

namespace s2s::run {

/// kOk, or kStopped when the user asked to stop and a checkpoint was written. Every rank calls it;
/// rank 0 alone writes and speaks.
ExitCode run_training(Run& setup);

}  // namespace s2s::run

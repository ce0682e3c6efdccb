#pragma once
// Runs a training: builds the components, resumes, trains, and leaves a complete run folder.

#include "run/run.h"
#include "s2s/error.h"

namespace s2s::run {

/// Returns kOk, or kStopped when the user asked to stop and a checkpoint was written. Every rank
/// calls it. Only rank 0 writes the run folder and the console.
ExitCode run_training(Run& setup);

}  // namespace s2s::run

#pragma once
// Runs a training: builds the components, resumes, trains, and leaves a complete run folder.

#include "run/run.h"
#include "s2s/error.h"

namespace s2s::run {

/// Returns kOk, or kStopped if the user stopped the run and a checkpoint was written. Every rank
/// calls it; only rank 0 writes the run folder and the console. `prints_metrics`: rank 0 also
/// prints the lines of metrics.jsonl to standard output. A reader that closes it stops the run like
/// ^C (MetricsStream).
ExitCode run_training(Run& setup, bool prints_metrics = false);

}  // namespace s2s::run

#pragma once
// The observers of a training: its files, loggers, console, checkpoints and tools.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_copies.h"
#include "checkpoint/checkpoint_observer.h"
#include "observers/early_stopping.h"
#include "observers/progress_observer.h"
#include "observers/recorded_steps.h"
#include "profile/step_profiler.h"
#include "run/run_preparation.h"
#include "train/metrics_file.h"

namespace s2s::run {

/// Adds each observer to the trainer, and makes the trainer save checkpoints. Members are in the
/// order in which they receive events.
class RunObservers {
 public:
  /// `trainer` must have its other functions and its state, and not run after this object.
  RunObservers(const OpenRun& run, PreparedRun& prepared, Trainer& trainer);
  RunObservers(const RunObservers&) = delete;
  RunObservers& operator=(const RunObservers&) = delete;

 private:
  std::function<void(const std::string&)> warn_;
  std::unique_ptr<MetricsLog> metrics_;  // of rank 0
  RunLoggers loggers_;
  ProgressObserver progress_;
  CheckpointFolder checkpoints_;
  CheckpointObserver saving_;
  EarlyStopping stopping_;
  RecordedSteps recorded_;
  StepProfiler profiler_;
};

/// The files of the run folder that a checkpoint copies.
std::vector<std::string> checkpoint_attachments(const RunFolder& folder);

}  // namespace s2s::run

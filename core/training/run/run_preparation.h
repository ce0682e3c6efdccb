#pragma once
// Prepares a training up to its first batch, in one list of steps. `train` takes them and continues
// with the results. `config check` takes the same steps and reports all their errors. It starts no
// ranks, allocates no model and leaves no files: it tries a temporary run folder.

#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/console.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "eval/validator.h"
#include "observers/run_loggers.h"
#include "run/open_run.h"
#include "run/run_parts.h"
#include "run/run_processes.h"
#include "run/run_start.h"
#include "train/run_folder.h"
#include "train/run_lock.h"

namespace s2s::run {

/// The results of the steps, in their order. Later members may refer to earlier ones.
struct PreparedRun {
  explicit PreparedRun(Run& run) : setup(run) {}

  Run& setup;
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  std::unique_ptr<RunProcesses> processes;
  std::unique_ptr<Communicator> simulated;  // the ranks of a check
  std::optional<RunLock> lock;              // only on rank 0
  std::optional<RunFolder> folder;
  std::ofstream nowhere;  // the console of other ranks, and of a check
  std::optional<Console> console;
  std::optional<Log> log;
  std::optional<InterruptWatch> interrupt;
  RunStart start;
  RunParts parts;
  std::vector<std::string> metric_names;  // of the model; empty: unknown
  std::unique_ptr<InitialValues> values;  // until the model has memory
  RunState begin;
  std::vector<NamedLogger> loggers;  // of rank 0
  std::vector<NamedMetric> metrics;  // of answers; empty without validation sets
  std::string monitor_fault;         // "": none
  Validator::Sets sets;
  std::unique_ptr<Scorer> scorer;

  /// After prepare_run_folder. `stream`: may be null.
  OpenRun open(const MetricsStream* stream = nullptr) {
    return {setup, *processes, *folder, *console, *log, started, stream};
  }
};

/// Takes the first steps of a training: ranks, strategy, run folder, log.
/// Errors: those of the steps.
void prepare_run_folder(PreparedRun& run);
/// Takes all further steps of a training. Its first step then takes the first batch.
/// Errors: those of the steps.
void prepare_training(PreparedRun& run);

/// What a check reports beside the warnings of `setup`.
struct PreparationReport {
  Findings findings;
  std::vector<std::string> notes;
};
/// Takes all steps as a check, and makes the first batch of each data set. Skips steps that need
/// the result of a failed one. `setup`: made for a check.
PreparationReport check_preparation(Run& setup);

}  // namespace s2s::run

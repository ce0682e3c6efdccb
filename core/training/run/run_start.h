#pragma once
// Where a run begins: anew, at its own newest checkpoint, or at another run's.

#include <string>

#include "base/log.h"
#include "checkpoint/checkpoint.h"
#include "run/run_parts.h"
#include "run/run_processes.h"
#include "train/run_folder.h"

namespace s2s::run {

struct RunStart {
  std::string checkpoint;      // "" for a fresh run
  bool is_of_this_run = true;  // false: exp_manager.resume_from_checkpoint
};

/// The newest checkpoint of the run folder, or the one that was asked for: rank 0 looks, and all
/// begin there. Errors: [run/not-empty].
RunStart find_start(const Run& setup, const RunFolder& folder, const RunProcesses& processes);

/// Loads what this rank holds of what the run goes on from, whatever layout wrote it. Returns the
/// steps done and the trainer's state. Errors: those of checkpoints.
RunState resume(const Run& setup, const RunStart& start, RunParts& parts, int64_t rank, Log& log);

/// Rank 0: says what has changed since the run was here, also of the learning rate at `steps_done`,
/// and writes config.yaml, manifest.json and the copies that checkpoints hold.
void write_run_files(const Run& setup, const RunFolder& folder, const RunStart& start,
                     const RunParts& parts, int64_t steps_done, Log& log);

}  // namespace s2s::run

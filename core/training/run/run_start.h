#pragma once
// Finds where a run starts: new, from its newest checkpoint, or from another run's checkpoint.

#include <string>

#include "base/log.h"
#include "checkpoint/checkpoint.h"
#include "run/run_parts.h"
#include "run/run_processes.h"
#include "train/run_folder.h"

namespace s2s::run {

struct RunStart {
  std::string checkpoint;      // "" for a new run
  bool is_of_this_run = true;  // false: exp_manager.resume_from_checkpoint
};

/// Chooses a folder in exp_dir/name for a run that does not resume: its local date and time, or
/// version_N. Rank 0 chooses for all ranks. Does nothing if the configuration names the folder.
/// Source: nemo/utils/exp_manager.py, get_log_dir.
void choose_version(Run& setup, const RunProcesses& processes);

/// Returns the newest checkpoint of the run folder, or the requested one. Rank 0 searches for all
/// ranks. `changes`: also removes the remains of interrupted saves. Errors: [run/not-empty],
/// [run/no-checkpoint], [run/lost-checkpoints].
RunStart find_start(const Run& setup, const RunFolder& folder, const RunProcesses& processes,
                    bool changes = true);

/// Loads this rank's state from the checkpoint, which may have been written with another layout.
/// Returns the steps done and the state of the trainer. Errors: those of checkpoints.
RunState resume(const Run& setup, const RunStart& start, RunParts& parts, int64_t rank, Log& log);

/// Rank 0: logs what has changed since the previous start, including the learning rate at
/// `steps_done`. Writes config.yaml, manifest.json and the files that checkpoints copy.
void write_run_files(const Run& setup, const RunFolder& folder, const RunStart& start,
                     const RunParts& parts, int64_t steps_done, Log& log);

}  // namespace s2s::run

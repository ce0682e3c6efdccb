#pragma once
// Saves steps that went wrong: RUN/bad_steps (core/docs/start/runs.md).

#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "run/run_parts.h"
#include "train/saved_step.h"

namespace s2s::run {

struct BadStepsPlace {
  std::string folder;                    // RUN/bad_steps
  std::vector<std::string> attachments;  // what a checkpoint copies
  CheckpointSettings checkpoints;        // the ranks that save together, their mesh
  int64_t rank = 0;
  int64_t num_ranks = 1;
};

/// Returns a function for Trainer::save_step. It writes the batches of this rank to
/// `batch.STEP.RANK.safetensors` and, together with the other ranks, the weights as a checkpoint
/// `step=N` beside it. Returns the file, or "" when it cannot be written: then `warn` is called,
/// and the run goes on. All arguments must outlive the function.
std::function<std::string(SavedStep&)> bad_step_saver(
    BadStepsPlace place, const RunParts& parts, const std::function<std::string()>& trainer_state,
    const std::function<void(const std::string&)>& warn);

}  // namespace s2s::run

#pragma once
// Saves the batches and weights of failed steps to RUN/bad_steps (core/docs/start/runs.md).

#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "run/run_parts.h"
#include "train/saved_step.h"

namespace s2s::run {

struct BadStepsOptions {
  std::string folder;                    // RUN/bad_steps
  std::vector<std::string> attachments;  // files that a checkpoint copies
  CheckpointSettings checkpoints;        // the ranks that save together and their mesh
  int64_t rank = 0;
  int64_t num_ranks = 1;
};

/// Returns a function for Trainer::save_step. It writes the batches of this rank to
/// `batch.STEP.RANK.safetensors` and, together with the other ranks, the weights as a checkpoint
/// `step=N` beside it. It returns the file, or "" if it cannot be written: then it calls `warn`,
/// and the run goes on. All arguments must outlive the function.
std::function<std::string(SavedStep&)> bad_step_saver(
    BadStepsOptions options, const RunParts& parts,
    const std::function<std::string()>& trainer_state,
    const std::function<void(const std::string&)>& warn);

}  // namespace s2s::run

#pragma once
// When a run writes checkpoints before its end.

#include <cstdint>
#include <string>
#include <vector>

#include "config/config_notes.h"
#include "config/run_blocks.h"

namespace s2s {

struct SaveSchedule {
  std::vector<int64_t> every_steps;  // optimizer steps; due with each one of them
  double every_s = 0;                // seconds after the checkpoint before; 0: never

  bool is_due(int64_t steps_done) const;
};

/// Optimizer steps of a pseudo epoch (trainer.limit_train_batches); 0: there is none. Its last step
/// may have fewer batches.
int64_t epoch_steps(const TrainerBlock& trainer);

/// What `checkpoint_callback_params` asks for. When it says nothing: each validation, each pseudo
/// epoch and half an hour.
SaveSchedule save_schedule(const CheckpointBlock& saving, const TrainerBlock& trainer);

/// When a run that has done `steps_done` of `max_steps` steps saves first: "after step 500 of 9000,
/// or after 30 minutes if that comes first".
std::string first_save_text(const SaveSchedule& schedule, int64_t steps_done, int64_t max_steps);

/// "" or that nothing is written before the last step, and what to change.
std::string save_warning(const SaveSchedule& schedule, int64_t max_steps);
/// The same of a configuration without findings.
void warn_of_saves(const Config& config, ConfigNotes& notes);

}  // namespace s2s

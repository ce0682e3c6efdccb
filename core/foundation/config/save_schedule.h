#pragma once
// When a run writes checkpoints before its end.

#include <cstdint>
#include <string>
#include <vector>

#include "config/config_notes.h"
#include "config/run_blocks.h"

namespace s2s {

struct SaveSchedule {
  std::vector<int64_t> every_steps;  // optimizer steps; saves at multiples of each
  double every_s = 0;                // seconds after the previous checkpoint; 0: never

  bool is_due(int64_t steps_done) const;
};

/// Optimizer steps of a pseudo epoch (trainer.limit_train_batches); 0 if there is none. Its last
/// step may have fewer batches.
int64_t epoch_steps(const TrainerBlock& trainer);

/// The schedule of `checkpoint_callback_params`. Its default: at each validation, each pseudo epoch
/// and every half hour.
SaveSchedule save_schedule(const CheckpointBlock& saving, const TrainerBlock& trainer);

/// Says when a run after `steps_done` of `max_steps` steps saves first: "after step 500 of 9000, or
/// after 30 minutes if that comes first".
std::string first_save_text(const SaveSchedule& schedule, int64_t steps_done, int64_t max_steps);

/// A warning if nothing is saved before the last step, with advice; else "".
std::string save_warning(const SaveSchedule& schedule, int64_t max_steps);
/// Adds that warning for a configuration without findings.
void warn_of_saves(const Config& config, ConfigNotes& notes);

}  // namespace s2s

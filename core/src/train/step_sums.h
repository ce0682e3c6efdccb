#pragma once
// What ranks tell each other about a training step.

#include <vector>

#include "s2s/speech_model.h"
#include "s2s/training.h"
#include "train/step_report.h"

namespace s2s {

/// Before the backward: the frames of the step on all data ranks, and whether all have data.
struct StepFrames {
  double frames = 0;
  bool has_data = false;
};
StepFrames agree_on_frames(ParallelStrategy& strategy, int64_t frames, bool has_data);

/// After it: turns a rank's losses and counts into those of all data ranks, its waiting time into
/// the longest. Returns whether any
/// rank wants to stop.
/// Errors: [comm/loss-parts] on all ranks when the names of the parts are not the same on all.
bool sum_over_data(ParallelStrategy& strategy, StepReport& report, bool wants_to_stop);

}  // namespace s2s

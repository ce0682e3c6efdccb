#pragma once
// What ranks tell each other about a training step.

#include <vector>

#include "s2s/kinds/speech_model.h"
#include "s2s/kinds/strategy.h"
#include "train/step_report.h"

namespace s2s {

/// Before the backward: the frames of the step on all data ranks, and whether all have data.
struct StepFrames {
  double frames = 0;
  bool has_data = false;
};
StepFrames agree_on_frames(ParallelStrategy& strategy, int64_t frames, bool has_data);

/// What a rank would have the run do after this step.
struct RankWishes {
  bool stop = false;
  bool save = false;  // a checkpoint

  RankWishes& operator|=(const RankWishes& other) {
    stop = stop || other.stop;
    save = save || other.save;
    return *this;
  }
};

/// After it: turns a rank's losses and counts into those of all data ranks, its waiting time into
/// the longest. Returns what any rank wishes.
/// Errors: [comm/loss-parts] on all ranks when the names of the parts are not the same on all.
RankWishes sum_over_data(ParallelStrategy& strategy, StepReport& report, RankWishes own);

class TrainedBuffers {
 public:
  /// Keeps copies of the stored floating buffers, when there are several data ranks.
  TrainedBuffers(Block& model, const ParallelStrategy& strategy);
  /// Gives every buffer that a rank has changed the mean over the data ranks. Running averages are
  /// linear, so how often this is called changes nothing. Every rank calls it.
  void average(ParallelStrategy& strategy);

 private:
  struct Kept {
    at::Tensor* buffer;
    at::Tensor first;
  };
  std::vector<Kept> kept_;
};

}  // namespace s2s

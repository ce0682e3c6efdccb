#pragma once
// Values that ranks exchange about a training step.

#include <map>
#include <string>
#include <vector>

#include "s2s/kinds/model.h"
#include "s2s/kinds/strategy.h"
#include "train/loss_sums.h"
#include "train/step_report.h"

namespace s2s {

/// Before backward: the frames of the step on all data ranks, and whether all ranks have data.
struct StepFrames {
  double frames = 0;
  bool has_data = false;
};
StepFrames agree_on_frames(ParallelStrategy& strategy, int64_t frames, bool has_data);

/// What a rank requests after this step. The run acts when any rank requests it.
struct RankWishes {
  bool stop = false;
  bool save = false;  // write a checkpoint

  RankWishes& operator|=(const RankWishes& other) {
    stop = stop || other.stop;
    save = save || other.save;
    return *this;
  }
};

/// The sums over the data ranks in a step. On a device, the host has not read them.
struct StepSums {
  std::vector<std::string> names;  // of the loss terms
  at::Tensor numbers;              // float64, one dim: this rank's loss, then the sums
  at::Tensor rest;                 // this rank's terms that are not among the sums; often undefined
};

/// After backward: sums losses, counts, waiting times and requests over all data ranks, in one
/// message and without a wait of the host.
StepSums sum_over_data(ParallelStrategy& strategy, const StepReport& report, const LossSums& losses,
                       RankWishes own);

/// The loss of a step: this rank's part, and the sum over all data ranks with its terms. Waits for
/// the device.
struct StepLosses {
  double own = 0, all = 0;
  std::map<std::string, double> terms;
};
StepLosses losses_of(const StepSums& sums);

/// The sum of the loss over all data ranks, on its device. The host does not wait.
at::Tensor late_loss_of(const StepSums& sums);

/// Writes losses and counts of all data ranks into `report`, and the longest waiting time. Returns
/// the requests of all ranks combined. numbers: the elements of `sums.numbers`. All ranks call it.
/// Errors: [comm/loss-parts] on all ranks when the names of the loss terms differ between ranks.
RankWishes read_sums(ParallelStrategy& strategy, const StepSums& sums,
                     const std::vector<double>& numbers, StepReport& report);

class TrainedBuffers {
 public:
  /// Copies the saved floating-point buffers when there are several data ranks.
  TrainedBuffers(Block& model, const ParallelStrategy& strategy);
  /// Replaces every buffer that a rank has changed by its mean over the data ranks. Running
  /// averages are linear, so it does not matter how often this is called. Every rank must call it.
  void average(ParallelStrategy& strategy);

 private:
  struct Kept {
    at::Tensor* buffer;
    at::Tensor first;
  };
  std::vector<Kept> kept_;
};

}  // namespace s2s

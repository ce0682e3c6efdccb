#pragma once
// Settings of a training loop.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "config/save_schedule.h"
#include "train/precision.h"

namespace s2s {

/// The position of a micro-batch in a run. The random numbers of a training step depend only on the
/// seed of the run and on this position. They do not depend on the layout or on earlier draws.
struct MicroBatchPosition {
  int64_t step = 0;        // optimizer step, 0-based
  int64_t index = 0;       // 0-based micro-batch of this rank in the step
  int64_t accumulate = 1;  // micro-batches per step on each rank
  int64_t data_rank = 0;
  int64_t data_size = 1;
  /// The index of this micro-batch if a single process read all data.
  int64_t number() const { return (step * accumulate + index) * data_size + data_rank; }
};

/// Seeds LibTorch's default generators for one micro-batch.
void seed_generators(uint64_t seed, const MicroBatchPosition& position);

/// What a step that is run again alone takes from the run that it was part of.
struct ReplayedRank {
  int64_t data_rank = 0;
  int64_t data_size = 1;
  double frames = 0;  // of the step on all data ranks
};

struct TrainerSettings {
  int64_t max_steps = 0;
  int64_t accumulate = 1;           // micro-batches per optimizer step, on each rank
  double max_grad_norm = 0;         // 0: no clipping
  bool update_in_backward = false;  // each parameter when its gradient is complete
  int64_t max_skipped = 20;         // updates in a row without finite gradients
  int64_t save_bad_steps = 0;       // largest number of steps that save_step is called for
  double loss_spike = 0;            // times the mean of recent losses; 0: no loss is a spike
  /// Runs a saved step again: a loss that is not finite does not end it.
  std::optional<ReplayedRank> replay;
  int64_t validate_every = 0;  // optimizer steps; 0: never
  SaveSchedule saves;          // checkpoints during training; one is always written at the end
  double max_time_s = 0;       // wall clock, its last checkpoint included; 0: no limit
  double used_time_s = 0;      // of it, before `run` is called
  bool keeps_average = false;  // the optimizer is an AveragingOptimizer
  uint64_t seed = 0;           // for random numbers in the model
  double peak_flops = 0;       // of all ranks, in a second; 0: unknown
  Precision precision;
  at::Device device = at::kCPU;
};

/// Errors: [config/update-in-backward] when other settings rule `update_in_backward` out.
void check_update_in_backward(const TrainerSettings& settings);

}  // namespace s2s

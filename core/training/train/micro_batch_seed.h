#pragma once
// Random numbers of a training step depend on the run's seed and the micro-batch alone: on no
// layout, and on nothing that was drawn before.

#include <cstdint>

namespace s2s {

/// Where a micro-batch stands in a run.
struct MicroBatchPlace {
  int64_t step = 0;        // optimizer step, 0-based
  int64_t index = 0;       // of the rank's micro-batches of this step
  int64_t accumulate = 1;  // of them in a step
  int64_t data_rank = 0;
  int64_t data_size = 1;
  /// Its number in the order in which one process would read all data.
  int64_t number() const { return (step * accumulate + index) * data_size + data_rank; }
};

/// Seeds LibTorch's default generators for one micro-batch.
void seed_generators(uint64_t seed, const MicroBatchPlace& place);

}  // namespace s2s

#pragma once
// Buffers that training changes on each rank on its own: running statistics of batch norms.

#include <vector>

#include "s2s/kinds/strategy.h"

namespace s2s {

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

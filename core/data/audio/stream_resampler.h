#pragma once
// Resamples audio that arrives in pieces.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "s2s/data/resample.h"

namespace s2s {

/// Gives the samples of `resample` while only the beginning of the recording is known. Each call
/// returns the samples that no later input can change. Together they equal those of the whole
/// recording.
class StreamResampler {
 public:
  StreamResampler(int64_t from_hz, int64_t to_hz);

  /// Takes samples [S] float32 and returns new samples [S'], maybe none.
  at::Tensor add(const at::Tensor& samples_S);
  /// Returns the remaining samples. To be called once, at the end.
  at::Tensor finish();

 private:
  at::Tensor take(int64_t end);

  Resampler resampler_;
  int64_t from_, to_;      // divided by their common divisor
  int64_t width_ = 0;      // number of inputs on each side that an output depends on
  int64_t begin_ = 0;      // first input in kept_S_
  int64_t num_given_ = 0;  // outputs so far
  at::Tensor kept_S_;      // inputs that later outputs need
};

}  // namespace s2s

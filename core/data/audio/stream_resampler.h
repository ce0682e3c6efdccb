#pragma once
// Resampling of audio that arrives in pieces.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "s2s/data/resample.h"

namespace s2s {

/// The samples of `resample` for a recording of which only the beginning is known. Pieces give the
/// samples that no later input can change; together they equal those of the whole recording.
class StreamResampler {
 public:
  StreamResampler(int64_t from_hz, int64_t to_hz);

  /// Samples [S] float32, in order -> new samples [S'], which may be none.
  at::Tensor add(const at::Tensor& samples_S);
  /// The rest. Call it once, at the end.
  at::Tensor finish();

 private:
  at::Tensor take(int64_t end);

  Resampler resampler_;
  int64_t from_, to_;      // without the rates' common divisor
  int64_t width_ = 0;      // inputs around an output that it depends on
  int64_t begin_ = 0;      // input at which kept_S_ begins
  int64_t num_given_ = 0;  // outputs so far
  at::Tensor kept_S_;      // inputs that later outputs need
};

}  // namespace s2s

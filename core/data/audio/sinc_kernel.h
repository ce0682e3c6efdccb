#pragma once
// The windowed sinc of torchaudio's resampling.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace s2s::data {

/// Hann window, 6 zero crossings, roll-off 0.99. The rates are divided by their common divisor.
struct SincKernel {
  int64_t from = 1, to = 1;
  int64_t width = 0;  // torchaudio's rows have `from` + 2 `width` taps, beginning at -width
  std::vector<int64_t> starts;  // of each phase's taps, relative to its frame
  at::Tensor weights;           // [to, taps] float32; undefined when the rates are equal

  /// Returns torchaudio's form [to, 1, from + 2 width], which is zero outside the taps.
  at::Tensor rows() const;
};

/// Every operation is torchaudio's and has its data type, so that the weights have the same bits.
/// Source: torchaudio.functional (kernel in float32), torchaudio.transforms (`is_double`: computed
/// in float64, then rounded; its phases are still divided in float).
SincKernel sinc_kernel(int64_t from_hz, int64_t to_hz, bool is_double);

}  // namespace s2s::data

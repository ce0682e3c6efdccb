#pragma once
// Resampling, equal to torchaudio's default method.
// Shape letters: B batch, S samples.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "s2s/data/fingerprint.h"

namespace s2s {

namespace data {
class Polyphase;
}

/// A windowed-sinc resampler (Hann, 6 zero crossings, roll-off 0.99). The constructor computes the
/// kernel: keep the object to resample many recordings of one rate.
/// Source: torchaudio.functional.resample (kernel in float32) and torchaudio.transforms.Resample
/// (`double_kernel`: computed in float64, then rounded; Lhotse uses this one).
class Resampler {
 public:
  Resampler(int64_t from_hz, int64_t to_hz, bool double_kernel = false);

  /// Number of output samples: n * to / from, rounded up, computed in float as torchaudio does.
  int64_t num_samples(int64_t num_input_samples) const;
  /// Shapes: [B, S] or [S], float32 -> the same with num_samples(S). Computed on the calling thread
  /// of the CPU; carries no gradient.
  at::Tensor operator()(const at::Tensor& audio_BS) const;

 private:
  int64_t from_, to_;                              // divided by their greatest common divisor
  std::shared_ptr<const data::Polyphase> phases_;  // null when the rates are equal
};

/// Resamples one recording; equal to torchaudio.functional.resample.
at::Tensor resample(const at::Tensor& audio_BS, int64_t from_hz, int64_t to_hz);

}  // namespace s2s

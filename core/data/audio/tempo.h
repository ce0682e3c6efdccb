#pragma once
// Changes the speed of speech without changing its pitch.
// Shape letters: C channels, S samples.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace s2s::data {

/// Cuts the signal into segments of 82 ms whose distance in the input is `factor` times that in the
/// output. Each segment is moved by up to 7 ms to the position where it fits best (WSOLA). All
/// channels move together.
/// Shapes: [C, S] -> [C, S / factor, rounded].
/// Source: the effect `tempo` of SoX 14.4.2 with its defaults, which lhotse's Tempo calls.
at::Tensor change_tempo(const at::Tensor& audio_CS, double factor, int64_t sample_rate_hz);

}  // namespace s2s::data

#pragma once
// Whole audio files, read and written by libsndfile.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace s2s {

/// The first channel of a file, resampled to `sample_rate_hz`.  -> [S] float32.
/// Errors: [data/unreadable-audio], [data/missing-file].
at::Tensor read_wave(const std::string& path, int64_t sample_rate_hz);

/// samples [S] float32, clipped to [-1, 1], as 16-bit PCM.  Errors: [io/write].
void write_wave(const std::string& path, const at::Tensor& samples_S, int64_t sample_rate_hz);

}  // namespace s2s

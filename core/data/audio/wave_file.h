#pragma once
// Reads and writes whole audio files with libsndfile.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace s2s {

struct Wave {
  at::Tensor samples_S;      // float32
  int64_t num_channels = 1;  // of the file
};

/// Reads one channel of a file, 0-based, and resamples it to `sample_rate_hz`.
/// Errors: [data/unreadable-audio], [data/missing-file], [data/empty-audio], [data/channel],
/// [data/audio-length].
Wave read_wave(const std::string& path, int64_t channel, int64_t sample_rate_hz);

/// Reads all channels of a file, each [S], resampled to `sample_rate_hz`. Channels of a file
/// without samples are empty. Errors: [data/unreadable-audio], [data/missing-file],
/// [data/audio-length].
std::vector<at::Tensor> read_channels(const std::string& path, int64_t sample_rate_hz);

/// Writes samples [S] float32, clipped to [-1, 1], as 16-bit PCM.  Errors: [io/write].
void write_wave(const std::string& path, const at::Tensor& samples_S, int64_t sample_rate_hz);

}  // namespace s2s

#pragma once
// A stretch of one audio file, by libsndfile.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

namespace s2s::data {

struct AudioInfo {
  int64_t sample_rate_hz = 0;
  int64_t num_samples = 0;  // per channel
  int64_t num_channels = 0;
};

/// Open for reading while it lives. Errors: std::runtime_error with libsndfile's words; callers
/// know the cut and turn it into [data/unreadable-audio].
class AudioFileReader {
 public:
  explicit AudioFileReader(const std::string& path);
  ~AudioFileReader();
  AudioFileReader(const AudioFileReader&) = delete;
  AudioFileReader& operator=(const AudioFileReader&) = delete;

  const AudioInfo& info() const { return info_; }
  /// Samples [C, S'] float32 in [-1, 1] from `first`; S' is less than `count` at the end that
  /// the file's header says.
  at::Tensor read(int64_t first, int64_t count);

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
  AudioInfo info_;
};

}  // namespace s2s::data

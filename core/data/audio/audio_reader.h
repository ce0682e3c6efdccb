#pragma once
// Reads parts of encoded audio (WAV, FLAC, Opus, MP3, OGG and other formats of libsndfile) from a
// file, a part of a file or memory.
// Shape letters: C channels, S samples.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

namespace s2s::data {

struct AudioInfo {
  int64_t sample_rate_hz = 0;
  int64_t num_samples = 0;  // per channel
  int64_t num_channels = 0;
  /// According to the header; more than num_samples if the file is cut off.
  int64_t num_promised = 0;
  /// Lhotse's name: wav, flac, opus, ogg, mp3, ...
  std::string format;

  double duration_s() const {
    return static_cast<double>(num_samples) / static_cast<double>(sample_rate_hz);
  }
};

class AudioBytes;

/// Keeps the audio open. Opening reads only the header. Not thread-safe.
/// Errors: std::runtime_error with the reason only, because the caller knows the place.
class AudioReader {
 public:
  /// Opens a file.
  explicit AudioReader(const std::string& path);
  /// Opens bytes [begin, end) of a file, for instance a member of a tar.
  AudioReader(const std::string& path, int64_t begin, int64_t end);
  /// Opens bytes in memory. GSM 6.10 may have no header and is then one channel at 8 kHz.
  explicit AudioReader(std::shared_ptr<const std::string> bytes, bool is_headerless_gsm = false);
  ~AudioReader();
  AudioReader(const AudioReader&) = delete;
  AudioReader& operator=(const AudioReader&) = delete;

  const AudioInfo& info() const { return info_; }
  /// Returns samples [C, S'] float32 in [-1, 1] from sample `first` on; S' is less than `count` if
  /// the audio ends before.
  /// Errors: also when the file is shorter than its own header says and the range reaches past its
  /// end.
  at::Tensor read(int64_t first, int64_t count);
  /// Returns all samples [C, S].
  at::Tensor read() { return read(0, info_.num_samples); }

 private:
  struct Handle;
  void open(bool is_headerless_gsm = false);
  void count_samples();
  void seek(int64_t first);

  std::unique_ptr<AudioBytes> bytes_;
  std::unique_ptr<Handle> handle_;
  AudioInfo info_;
  int64_t position_ = 0;  // next sample that libsndfile reads
};

}  // namespace s2s::data

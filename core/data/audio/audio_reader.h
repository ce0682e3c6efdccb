#pragma once
// A stretch of encoded audio (WAV, FLAC, Opus, MP3, OGG and what else libsndfile reads), from a
// file, from a part of a file or from memory.
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
  int64_t num_promised = 0;  // by the header: more than there are in a file that was cut off
  /// In Lhotse's words: wav, flac, opus, ogg, mp3, ...
  std::string format;

  double duration_s() const {
    return static_cast<double>(num_samples) / static_cast<double>(sample_rate_hz);
  }
};

class AudioBytes;

/// Open for reading while it lives; opening reads the header only. Not for several threads at once.
/// Errors: std::runtime_error with the reason alone; whoever calls knows the place.
class AudioReader {
 public:
  /// A file.
  explicit AudioReader(const std::string& path);
  /// Bytes [begin, end) of a file, for instance a member of a tar.
  AudioReader(const std::string& path, int64_t begin, int64_t end);
  /// Bytes in memory; of GSM 6.10 also without a header, which is one channel at 8 kHz.
  explicit AudioReader(std::shared_ptr<const std::string> bytes, bool is_headerless_gsm = false);
  ~AudioReader();
  AudioReader(const AudioReader&) = delete;
  AudioReader& operator=(const AudioReader&) = delete;

  const AudioInfo& info() const { return info_; }
  /// Samples [C, S'] float32 in [-1, 1] from sample `first`; S' is less than `count` where the
  /// audio ends before. Errors: also when the file is shorter than its own header says and the
  /// stretch reaches behind that end.
  at::Tensor read(int64_t first, int64_t count);
  /// All of it, [C, S].
  at::Tensor read() { return read(0, info_.num_samples); }

 private:
  struct Handle;
  void open(bool is_headerless_gsm = false);
  void count_samples();
  void seek(int64_t first);

  std::unique_ptr<AudioBytes> bytes_;
  std::unique_ptr<Handle> handle_;
  AudioInfo info_;
  int64_t position_ = 0;  // the sample that libsndfile reads next
};

}  // namespace s2s::data

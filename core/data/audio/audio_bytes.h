#pragma once
// Random access to the bytes of encoded audio, as libsndfile asks for them.

#include <sndfile.h>

#include <cstdint>
#include <memory>
#include <string>

namespace s2s::data {

class AudioBytes {
 public:
  virtual ~AudioBytes() = default;
  AudioBytes() = default;
  AudioBytes(const AudioBytes&) = delete;
  AudioBytes& operator=(const AudioBytes&) = delete;

  int64_t size() const { return size_; }
  /// At most `count` bytes from `position`; how many there were.
  int64_t read_at(int64_t position, char* to, int64_t count) const;
  /// Opens what is here. `info` is zero, or says what bytes without a header are.
  /// Errors: std::runtime_error with libsndfile's reason.
  SNDFILE* open(SF_INFO& info);

 protected:
  /// Inside [0, size).
  virtual int64_t copy(int64_t position, char* to, int64_t count) const = 0;
  int64_t size_ = 0;

 private:
  friend struct AudioBytesCalls;
  int64_t position_ = 0;
};

/// [begin, end) of a file. Errors: std::runtime_error.
std::unique_ptr<AudioBytes> bytes_of_file(const std::string& path, int64_t begin, int64_t end);
/// All of a file.
std::unique_ptr<AudioBytes> bytes_of_file(const std::string& path);
std::unique_ptr<AudioBytes> bytes_of_memory(std::shared_ptr<const std::string> bytes);

/// Samples that the header of a WAV file promises, when that many bytes are not there; 0 for whole
/// files, other formats, and headers written by a program that did not know the length.
int64_t promised_wave_samples(const AudioBytes& bytes);

}  // namespace s2s::data

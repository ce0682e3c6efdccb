#pragma once
// Random access to the bytes of encoded audio, in the form in which libsndfile asks for them.

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
  /// Copies at most `count` bytes from `position` and returns their number.
  int64_t read_at(int64_t position, char* to, int64_t count) const;
  /// Opens the bytes as audio. `info` is zero, or says what bytes without a header contain.
  /// Errors: std::runtime_error with libsndfile's reason.
  SNDFILE* open(SF_INFO& info);

 protected:
  /// Copies bytes; the range is inside [0, size).
  virtual int64_t copy(int64_t position, char* to, int64_t count) const = 0;
  int64_t size_ = 0;

 private:
  friend struct AudioBytesCalls;
  int64_t position_ = 0;
};

/// Bytes [begin, end) of a file. Errors: std::runtime_error.
std::unique_ptr<AudioBytes> bytes_of_file(const std::string& path, int64_t begin, int64_t end);
/// All bytes of a file.
std::unique_ptr<AudioBytes> bytes_of_file(const std::string& path);
std::unique_ptr<AudioBytes> bytes_of_memory(std::shared_ptr<const std::string> bytes);

/// Returns the number of samples that the header of a WAV file promises if the file is too short
/// for them. Returns 0 for whole files, other formats, and headers of programs that did not know
/// the length.
int64_t promised_wave_samples(const AudioBytes& bytes);

}  // namespace s2s::data

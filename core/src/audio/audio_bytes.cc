#include "audio/audio_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace s2s::data {
namespace {

[[noreturn]] void fail(int error) { throw std::runtime_error(std::strerror(error)); }

class FileBytes : public AudioBytes {
 public:
  FileBytes(const std::string& path, int64_t begin, int64_t end) : begin_(begin) {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file_ < 0) fail(errno);
    struct stat found {};
    const int error = ::fstat(file_, &found) != 0 ? errno : S_ISDIR(found.st_mode) ? EISDIR : 0;
    if (error != 0 || !S_ISREG(found.st_mode)) {
      ::close(file_);
      if (error == 0) throw std::runtime_error("it is not a file");
      fail(error);
    }
    const int64_t last = end < 0 ? found.st_size : std::min<int64_t>(end, found.st_size);
    size_ = std::max<int64_t>(0, last - begin_);
  }
  ~FileBytes() override { ::close(file_); }

 protected:
  int64_t copy(int64_t position, char* to, int64_t count) const override {
    int64_t done = 0;
    while (done < count) {
      const ssize_t got = ::pread(file_, to + done, static_cast<size_t>(count - done),
                                  static_cast<off_t>(begin_ + position + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += got;
    }
    return done;
  }

 private:
  int file_ = -1;
  int64_t begin_ = 0;
};

class MemoryBytes : public AudioBytes {
 public:
  explicit MemoryBytes(std::shared_ptr<const std::string> bytes) : bytes_(std::move(bytes)) {
    size_ = static_cast<int64_t>(bytes_->size());
  }

 protected:
  int64_t copy(int64_t position, char* to, int64_t count) const override {
    std::memcpy(to, bytes_->data() + position, static_cast<size_t>(count));
    return count;
  }

 private:
  std::shared_ptr<const std::string> bytes_;
};

uint32_t little_endian(const char* from) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8U | static_cast<unsigned char>(from[i]);
  return value;
}

}  // namespace

/// What libsndfile calls.
struct AudioBytesCalls {
  static AudioBytes& of(void* bytes) { return *static_cast<AudioBytes*>(bytes); }
  static sf_count_t size(void* bytes) { return of(bytes).size(); }
  static sf_count_t tell(void* bytes) { return of(bytes).position_; }
  static sf_count_t seek(sf_count_t offset, int whence, void* bytes) {
    AudioBytes& at = of(bytes);
    if (whence == SEEK_CUR) offset += at.position_;
    if (whence == SEEK_END) offset += at.size();
    if (offset < 0) return -1;
    return at.position_ = offset;
  }
  static sf_count_t read(void* to, sf_count_t count, void* bytes) {
    AudioBytes& at = of(bytes);
    const int64_t got = at.read_at(at.position_, static_cast<char*>(to), count);
    at.position_ += got;
    return got;
  }
  static sf_count_t write(const void*, sf_count_t, void*) { return 0; }
};

int64_t AudioBytes::read_at(int64_t position, char* to, int64_t count) const {
  count = std::clamp<int64_t>(size_ - position, 0, std::max<int64_t>(0, count));
  return count == 0 ? 0 : copy(position, to, count);
}

SNDFILE* AudioBytes::open(SF_INFO& info) {
  SF_VIRTUAL_IO calls = {AudioBytesCalls::size, AudioBytesCalls::seek, AudioBytesCalls::read,
                         AudioBytesCalls::write, AudioBytesCalls::tell};
  position_ = 0;
  return sf_open_virtual(&calls, SFM_READ, &info, this);
}

std::unique_ptr<AudioBytes> bytes_of_file(const std::string& path, int64_t begin, int64_t end) {
  return std::make_unique<FileBytes>(path, begin, end);
}

std::unique_ptr<AudioBytes> bytes_of_file(const std::string& path) {
  return std::make_unique<FileBytes>(path, 0, -1);
}

std::unique_ptr<AudioBytes> bytes_of_memory(std::shared_ptr<const std::string> bytes) {
  return std::make_unique<MemoryBytes>(std::move(bytes));
}

// Chunks of a RIFF file: four letters, the size, that many bytes and one more after an odd size.
int64_t promised_wave_samples(const AudioBytes& bytes) {
  constexpr uint32_t kUnknownLength = 0x7FFFF000;  // and more: written to a pipe
  char mark[12];
  if (bytes.read_at(0, mark, 12) != 12 || std::memcmp(mark, "RIFF", 4) != 0 ||
      std::memcmp(mark + 8, "WAVE", 4) != 0) {
    return 0;
  }
  int64_t frame_bytes = 0;
  char chunk[8];
  for (int64_t at = 12; bytes.read_at(at, chunk, 8) == 8;) {
    const uint32_t size = little_endian(chunk + 4);
    if (std::memcmp(chunk, "fmt ", 4) == 0) {
      char format[16];
      if (bytes.read_at(at + 8, format, 16) != 16) return 0;
      frame_bytes = little_endian(format + 12) & 0xFFFFU;
    }
    if (std::memcmp(chunk, "data", 4) == 0) {
      const bool whole = at + 8 + static_cast<int64_t>(size) <= bytes.size();
      return whole || size >= kUnknownLength || frame_bytes == 0 ? 0 : size / frame_bytes;
    }
    at += 8 + static_cast<int64_t>(size) + (size & 1U);
  }
  return 0;
}

}  // namespace s2s::data

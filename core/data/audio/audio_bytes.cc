#include "audio/audio_bytes.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <system_error>

#include "base/mapped_file.h"
#include "s2s/interrupted_calls.h"

namespace s2s::data {
namespace {

/// Opens a file. Errors: std::runtime_error with the reason only.
RegularFile opened_file(const std::string& path) {
  try {
    return RegularFile(path);
  } catch (const std::system_error& error) {
    const int code = error.code().value();
    throw std::runtime_error(code == EINVAL ? "it is not a file" : std::strerror(code));
  }
}

class FileBytes : public AudioBytes {
 public:
  FileBytes(const std::string& path, int64_t begin, int64_t end)
      : file_(opened_file(path)), begin_(begin) {
    const auto file_bytes = static_cast<int64_t>(file_.size());
    const int64_t last = end < 0 ? file_bytes : std::min(end, file_bytes);
    size_ = std::max<int64_t>(0, last - begin_);
  }

 protected:
  int64_t copy(int64_t position, char* to, int64_t count) const override {
    int64_t done = 0;
    InterruptedCalls interrupted;
    while (done < count) {
      const ssize_t got = ::pread(file_.descriptor(), to + done, static_cast<size_t>(count - done),
                                  static_cast<off_t>(begin_ + position + done));
      if (got < 0 && interrupted.again()) continue;
      if (got <= 0) break;
      interrupted.reset();
      done += got;
    }
    return done;
  }

 private:
  RegularFile file_;
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

struct WaveChunk {
  char name[4];
  uint32_t size;
  int64_t begin;  // of its content
  bool is(const char* other) const { return std::memcmp(name, other, 4) == 0; }
};

/// Visits the chunks of a RIFF or RF64 file: four letters, the size, the data, and a padding byte
/// if the size is odd. `visit` returns false to stop.
template <class Visit>
void for_each_wave_chunk(const AudioBytes& bytes, const Visit& visit) {
  constexpr int kMostChunks = 10'000;
  char mark[12];
  const bool is_wave = bytes.read_at(0, mark, 12) == 12 && std::memcmp(mark + 8, "WAVE", 4) == 0;
  if (!is_wave || (std::memcmp(mark, "RIFF", 4) != 0 && std::memcmp(mark, "RF64", 4) != 0)) return;
  char head[8];
  int64_t at = 12;
  for (int i = 0; i < kMostChunks && bytes.read_at(at, head, 8) == 8; ++i) {
    WaveChunk chunk{{}, little_endian(head + 4), at + 8};
    std::memcpy(chunk.name, head, 4);
    if (!visit(chunk)) return;
    at = chunk.begin + static_cast<int64_t>(chunk.size) + (chunk.size & 1U);
  }
}

/// Refuses lists that are longer than the file. libsndfile trusts the size of a list, and a file of
/// 75 bytes kept it busy for minutes.
void refuse_long_lists(const AudioBytes& bytes) {
  constexpr int64_t kMostMissing = int64_t{1} << 20;
  for_each_wave_chunk(bytes, [&](const WaveChunk& chunk) {
    const int64_t missing = chunk.begin + static_cast<int64_t>(chunk.size) - bytes.size();
    if (missing > kMostMissing && chunk.is("LIST")) {
      throw std::runtime_error("its LIST chunk says " + std::to_string(chunk.size) +
                               " bytes, and the file has " + std::to_string(bytes.size()));
    }
    return missing <= 0;
  });
}

}  // namespace

/// The functions that libsndfile calls.
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

// libsndfile stores the reason of a failed open in one place for all threads, and every open clears
// it. To get the reason, the file is opened again while no other thread opens one.
SNDFILE* AudioBytes::open(SF_INFO& info) {
  refuse_long_lists(*this);
  SF_VIRTUAL_IO calls = {AudioBytesCalls::size, AudioBytesCalls::seek, AudioBytesCalls::read,
                         AudioBytesCalls::write, AudioBytesCalls::tell};
  const SF_INFO asked = info;
  const auto open_it = [&] {
    position_ = 0;
    info = asked;
    return sf_open_virtual(&calls, SFM_READ, &info, this);
  };
  static std::shared_mutex opens;
  {
    const std::shared_lock lock(opens);
    if (SNDFILE* const file = open_it()) return file;
  }
  const std::unique_lock lock(opens);
  if (SNDFILE* const file = open_it()) return file;
  throw std::runtime_error(sf_strerror(nullptr));
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

int64_t promised_wave_samples(const AudioBytes& bytes) {
  /// This and greater sizes mean that the file was written to a pipe.
  constexpr uint32_t kUnknownLength = 0x7FFFF000;
  int64_t frame_bytes = 0, promised = 0;
  for_each_wave_chunk(bytes, [&](const WaveChunk& chunk) {
    if (chunk.is("fmt ")) {
      char format[16];
      if (bytes.read_at(chunk.begin, format, 16) != 16) return false;
      frame_bytes = little_endian(format + 12) & 0xFFFFU;
    }
    if (!chunk.is("data")) return true;
    const bool whole = chunk.begin + static_cast<int64_t>(chunk.size) <= bytes.size();
    const bool is_known = chunk.size < kUnknownLength && frame_bytes > 0;
    if (!whole && is_known) promised = chunk.size / frame_bytes;
    return false;
  });
  return promised;
}

}  // namespace s2s::data

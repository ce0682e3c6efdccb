// Manifests, written line by line.

#include <zlib.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/atomic_file.h"
#include "cuts/cut_files.h"
#include "cuts/cuts_errors.h"

namespace s2s {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 18;

bool has_audio_in_memory(const Recording& recording) {
  return std::any_of(recording.sources.begin(), recording.sources.end(),
                     [](const auto& source) { return source.type == AudioSource::Type::kMemory; });
}

bool has_audio_in_memory(const Cut& cut) {
  if (cut.recording && has_audio_in_memory(*cut.recording)) return true;
  for (const auto& [name, value] : cut.custom) {
    const auto* recording = std::get_if<Recording>(&value);
    if (recording != nullptr && has_audio_in_memory(*recording)) return true;
  }
  return std::any_of(cut.tracks.begin(), cut.tracks.end(),
                     [](const MixTrack& track) { return has_audio_in_memory(*track.cut); });
}

}  // namespace

/// Bytes on their way into a file, compressed or not.
struct ManifestWriter::File {
 public:
  explicit File(const std::string& path) : file_(path), gzip_(path.ends_with(".gz")) {
    constexpr int kGzipHeader = 16 + MAX_WBITS;
    if (gzip_ && deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipHeader, 8,
                              Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::runtime_error("zlib cannot begin to compress");
    }
  }
  ~File() {
    if (gzip_) deflateEnd(&stream_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void add(std::string_view text) {
    pending_ += text;
    if (pending_.size() >= kBufferBytes) flush(Z_NO_FLUSH);
  }

  void commit() {
    flush(Z_FINISH);
    file_.commit();
  }

 private:
  void flush(int how) {
    if (!gzip_) {
      file_.write(pending_);
      pending_.clear();
      return;
    }
    std::string packed(kBufferBytes, '\0');
    stream_.next_in = reinterpret_cast<Bytef*>(pending_.data());
    stream_.avail_in = static_cast<uInt>(pending_.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(packed.data());
      stream_.avail_out = static_cast<uInt>(packed.size());
      deflate(&stream_, how);
      file_.write(packed.data(), packed.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
    pending_.clear();
  }

  AtomicFile file_;
  bool gzip_;
  z_stream stream_{};
  std::string pending_;
};

ManifestWriter::ManifestWriter(const std::string& path) : file_(std::make_unique<File>(path)) {}
ManifestWriter::~ManifestWriter() = default;

void ManifestWriter::add(std::string line) {
  S2S_ASSERT(file_ != nullptr, "nothing is written after close");
  line += '\n';
  file_->add(line);
  ++num_lines_;
}

void ManifestWriter::write(const Cut& cut) {
  if (has_audio_in_memory(cut)) throw cuts_errors::audio_in_memory(cut);
  add(to_json(cut));
}

void ManifestWriter::write(const Recording& recording) { add(to_json(recording)); }
void ManifestWriter::write(const Supervision& supervision) { add(to_json(supervision)); }

void ManifestWriter::close() {
  file_->commit();
  file_.reset();
}

}  // namespace s2s

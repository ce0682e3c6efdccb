#include "files/line_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>

#include "files/files_errors.h"
#include "files/gzip_stream.h"
#include "files/line_file.h"

namespace s2s::data {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 17;
/// Bytes that a shorter line counts as, because a caller that keeps lines needs about that much
/// memory for each.
constexpr size_t kLeastLineBytes = 64;

struct OpenedLines {
  gzFile handle = nullptr;  // null: the file does not exist, or it is a folder
  int64_t file_bytes = 0;
};

OpenedLines open_lines(const std::string& path) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  const int number = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (number < 0) return {};
  struct stat status {};
  const bool is_known = fstat(number, &status) == 0;
  gzFile handle = is_known && S_ISREG(status.st_mode) ? gzdopen(number, "rb") : nullptr;
  if (handle == nullptr) close(number);
  if (is_known && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    throw files_errors::unreadable_file(path, "not a file");
  }
  return {handle, is_known ? status.st_size : 0};
}

}  // namespace

struct LineReader::File {
  explicit File(const OpenedLines& opened) : handle(opened.handle), file_bytes(opened.file_bytes) {}
  ~File() { gzclose(handle); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Errors: [data/gzip] for a compressed file with more content than its size allows.
  void check_content(const std::string& path, int64_t num_lines) const {
    if (gzdirect(handle) != 0) return;
    const int64_t most_bytes = std::max(files::kContentBytes, file_bytes * files::kMostRatio);
    if (given_bytes > most_bytes) {
      throw files_errors::too_much_content(path, file_bytes, most_bytes);
    }
    if (given_bytes + short_bytes > most_bytes) {
      throw files_errors::too_many_lines(path, file_bytes, num_lines);
    }
  }

  gzFile handle;
  int64_t file_bytes;
  int64_t given_bytes = 0;
  int64_t short_bytes = 0;  // sum of what short lines lack to kLeastLineBytes
};

LineReader::LineReader(const std::string& path) : path_(path) {
  const OpenedLines opened = open_lines(path);
  if (opened.handle == nullptr) throw files_errors::missing_manifest(path);
  gzbuffer(opened.handle, kChunkBytes);
  file_ = std::make_unique<File>(opened);
}

LineReader::~LineReader() = default;

bool LineReader::fill() {
  buffer_.erase(0, position_);
  position_ = 0;
  const size_t kept = buffer_.size();
  buffer_.resize(kept + kChunkBytes);
  const int got = gzread(file_->handle, buffer_.data() + kept, kChunkBytes);
  int code = Z_OK;
  const char* reason = gzerror(file_->handle, &code);
  // A file that is truncated inside a member gives a short count and Z_BUF_ERROR. The lines before
  // its end are returned first.
  if (got < 0 || (got == 0 && code == Z_BUF_ERROR)) {
    const std::string text = reason;  // "PATH: reason"
    const std::string place = path_ + ": ";
    throw files_errors::gzip(path_, line_,
                             text.starts_with(place) ? text.substr(place.size()) : text);
  }
  buffer_.resize(kept + static_cast<size_t>(got));
  file_->given_bytes += got;
  file_->check_content(path_, line_);
  return got > 0;
}

bool LineReader::next(std::string& line) {
  size_t scanned = 0;
  for (;;) {
    const size_t end = buffer_.find('\n', position_ + scanned);
    if (end != std::string::npos) {
      line.assign(buffer_, position_, end - position_);
      position_ = end + 1;
      break;
    }
    scanned = buffer_.size() - position_;
    if (scanned > files::kMostLineBytes) throw files_errors::long_line(path_, line_);
    if (!fill()) {
      if (scanned == 0) return false;
      line.assign(buffer_, position_, scanned);
      position_ = buffer_.size();
      break;
    }
  }
  file_->short_bytes +=
      static_cast<int64_t>(kLeastLineBytes - std::min(line.size(), kLeastLineBytes));
  if (!line.empty() && line.back() == '\r') line.pop_back();
  ++line_;
  return true;
}

}  // namespace s2s::data

#pragma once
// Lines of a text file by their number: plain, gzip, or from a command.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "files/byte_file.h"
#include "files/index_place.h"
#include "files/offset_index.h"

namespace s2s::files {

/// Longest line that is read: the longest known are cuts with audio in them.
inline constexpr size_t kMostLineBytes = size_t{256} << 20;

/// Thread-safe.
class LineFile {
 public:
  LineFile(std::shared_ptr<const ByteFile> bytes, OffsetIndex lines)
      : bytes_(std::move(bytes)), lines_(std::move(lines)) {}

  const std::string& path() const { return bytes_->name(); }
  /// Number of lines, as Lhotse counts: an empty line is one, nothing behind the last line end is
  /// none.
  int64_t size() const { return lines_.size(); }
  /// Line `row` from 0, without its line end. Errors: [data/index] when the file has changed since
  /// its index was made, [io/file], [data/gzip], [data/pipe].
  std::string line(int64_t row) const;
  /// Where it begins in the (decompressed) content.
  int64_t offset(int64_t row) const { return lines_.begin(row); }
  /// Lines first .. last - 1 with their line ends; for reading one after the other.
  /// Errors: as `line`; [data/json] for more than kMostLineBytes.
  std::string lines(int64_t first, int64_t last) const;

 private:
  std::shared_ptr<const ByteFile> bytes_;
  OffsetIndex lines_;
};

/// Reads the lines of a file in order, many at a time.
class LineCursor {
 public:
  explicit LineCursor(std::shared_ptr<const LineFile> file, int64_t row = 0)
      : file_(std::move(file)), row_(row), first_(row), last_(row) {}
  /// False at the end.
  bool next(std::string& line);
  /// Of the line that `next` gives next.
  int64_t row() const { return row_; }
  const LineFile& file() const { return *file_; }

 private:
  void fill();

  std::shared_ptr<const LineFile> file_;
  int64_t row_;
  int64_t first_, last_;  // rows in the buffer
  std::string buffer_;
};

/// `source`: a path or "pipe:CMD"; gzip is recognized by its content, and so are a JSON array and
/// objects over several lines, of which each value is a line (files/json_values.h). The index of a
/// plain file is Lhotse's "PATH.idx"; of a large gzip file "PATH.gzidx"; small files and commands
/// have none. `expected`: what is said when the file is missing. Errors: [data/missing-file],
/// [data/gzip], [data/pipe], [data/url], [io/file].
std::shared_ptr<const LineFile> open_line_file(
    const std::string& source, const OpenOptions& options = {},
    const std::string& expected = "a text file with one JSON object on each line; check the path");

/// Goes through all lines of `file`. Errors: [io/file].
void make_line_index(const ByteFile& file, OffsetWriter& offsets,
                     const std::function<void(const IndexProgress&)>& on_progress);

/// Writes "PATH.idx", as Lhotse does. Errors: [io/write], [data/missing-file].
void write_line_index(const std::string& path);

}  // namespace s2s::files

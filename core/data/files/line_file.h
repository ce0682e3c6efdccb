#pragma once
// Access to the lines of a text file by number: plain, gzip, or from a command.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "files/byte_file.h"
#include "files/index_place.h"
#include "files/offset_index.h"

namespace s2s::files {

/// Maximum length of a line. The longest known lines are cuts that contain audio.
inline constexpr size_t kMostLineBytes = size_t{256} << 20;

/// Thread-safe.
class LineFile {
 public:
  LineFile(std::shared_ptr<const ByteFile> bytes, OffsetIndex lines)
      : bytes_(std::move(bytes)), lines_(std::move(lines)) {}

  const std::string& path() const { return bytes_->name(); }
  /// Number of lines, as Lhotse counts: an empty line counts, and what follows the last line end
  /// counts only if it is not empty.
  int64_t size() const { return lines_.size(); }
  /// Returns line `row`, from 0, without its line end.
  /// Errors: [data/index] when the file has changed since its index was made, [io/file],
  /// [data/gzip], [data/pipe].
  std::string line(int64_t row) const;
  /// Offset of the line in the (decompressed) content.
  int64_t offset(int64_t row) const { return lines_.begin(row); }
  /// Returns lines first .. last - 1 with their line ends, for sequential reading.
  /// Errors: as `line`; [data/json] for more than kMostLineBytes.
  std::string lines(int64_t first, int64_t last) const;

 private:
  std::shared_ptr<const ByteFile> bytes_;
  OffsetIndex lines_;
};

/// Reads the lines of a file in order. It reads many lines at a time.
class LineCursor {
 public:
  explicit LineCursor(std::shared_ptr<const LineFile> file, int64_t row = 0)
      : file_(std::move(file)), row_(row), first_(row), last_(row) {}
  /// Returns false at the end.
  bool next(std::string& line);
  /// Row of the next line.
  int64_t row() const { return row_; }
  const LineFile& file() const { return *file_; }

 private:
  void fill();

  std::shared_ptr<const LineFile> file_;
  int64_t row_;
  int64_t first_, last_;  // rows in the buffer
  std::string buffer_;
};

/// Opens `source`, a path or "pipe:CMD". Gzip is recognized by its content. A JSON array, and
/// objects over several lines, are also recognized; each of their values becomes a line
/// (files/json_values.h). The index of a plain file is Lhotse's "PATH.idx", that of a large gzip
/// file is "PATH.gzidx"; small files and commands have none. `expected` is for the error of a
/// missing file.
/// Errors: [data/missing-file], [data/gzip], [data/pipe], [data/url], [io/file].
std::shared_ptr<const LineFile> open_line_file(
    const std::string& source, const OpenOptions& options = {},
    const std::string& expected = "a text file with one JSON object on each line; check the path");

/// Adds the offsets of all lines of `file`. Errors: [io/file].
void make_line_index(const ByteFile& file, OffsetWriter& offsets,
                     const std::function<void(const IndexProgress&)>& on_progress);

/// Writes "PATH.idx", as Lhotse does. Errors: [io/write], [data/missing-file].
void write_line_index(const std::string& path);

}  // namespace s2s::files

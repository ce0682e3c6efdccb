#pragma once
// Files of lines that may have any size, because the program itself appended to them.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/mapped_file.h"

namespace s2s {

/// A line and its position in the file.
struct FileLine {
  std::string_view text;     // without the line break; valid until the next call
  size_t begin = 0;          // bytes before the line
  size_t end = 0;            // bytes up to the next line
  bool is_complete = false;  // has a line break
};

/// Reads the lines of a file in blocks, from its begin or from its end. It needs memory for a block
/// or for the longest line. Lines that are appended after the file was opened are not read.
/// Errors: std::system_error of RegularFile and of reading; [io/line] when there is no line break
/// within `max_line_bytes`, as in a file with a hole.
class AppendedLines {
 public:
  static constexpr size_t kBlockBytes = size_t{64} << 10;
  static constexpr size_t kLineBytes = size_t{16} << 20;
  explicit AppendedLines(const std::string& path, size_t max_line_bytes = kLineBytes);

  /// Returns the next line; the first call returns the first line.
  std::optional<FileLine> next();
  /// Returns the previous line; the first call returns the last line.
  std::optional<FileLine> previous();
  /// Moves to `end`, the end of a line: `previous` then returns that line.
  void go_back_to(size_t end);
  /// Returns the last position of a word in [from, before). The bytes are not split into lines, so
  /// this is several times as fast.
  std::optional<size_t> rfind(std::string_view word, size_t before, size_t from = 0);
  /// Reads bytes from `at` on and returns their number, which is smaller at the end of the file.
  size_t read(size_t at, char* into, size_t num_bytes);

  const std::string& path() const { return path_; }
  size_t size() const { return file_.size(); }
  size_t bytes_read() const { return bytes_read_; }

 private:
  [[noreturn]] void fail_too_long(size_t at) const;

  std::string path_;
  RegularFile file_;
  size_t max_line_bytes_;
  size_t bytes_read_ = 0;
  std::string ahead_;               // bytes that `next` has not returned, from taken_ on
  size_t taken_ = 0;                // of ahead_
  size_t next_ = 0;                 // position of ahead_[taken_]
  std::string line_;                // what `previous` returned
  std::string before_;              // bytes before position_ that `previous` has not returned
  std::optional<size_t> previous_;  // position after before_; nothing: `previous` was not called
};

}  // namespace s2s

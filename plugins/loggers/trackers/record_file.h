#pragma once
// Files that loggers append to, and names below a folder.

#include <chrono>
#include <string>
#include <string_view>

namespace s2s::trackers {

/// True when the time since the last `reset` is longer than the period.
class Timer {
 public:
  explicit Timer(double period_s) : period_s_(period_s) { reset(); }
  bool is_due() const;
  void reset() { last_ = std::chrono::steady_clock::now(); }

 private:
  double period_s_;
  std::chrono::steady_clock::time_point last_;
};

/// A file that is appended to through a buffer. Nothing is synced to the disk.
class RecordFile {
 public:
  /// Opens or creates the file and the folders above it. `flush_secs`: the buffer is written when
  /// it is older, at the next `append`. Errors: std::system_error with the path.
  RecordFile(std::string path, double flush_secs);
  /// Writes the rest of the buffer, without errors.
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  /// Errors: std::system_error with the path. What could not be written is lost.
  void append(std::string_view bytes);
  void flush();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int file_ = -1;
  std::string buffer_;
  Timer timer_;
};

/// Appends to a file at once. Errors: std::system_error with the path.
void append_to(const std::string& path, std::string_view bytes);

/// Replaces a file by another that is complete, and creates the folders above it. Errors:
/// std::system_error with the path.
void replace_file(const std::string& path, std::string_view bytes);

/// The text of a file, or "" when there is none. Errors: std::system_error.
std::string text_of_file(const std::string& path);

/// A relative path made of a tag: letters, digits and _-. stay, all else becomes _, and no part is
/// empty, "." or "..".
std::string path_of_tag(std::string_view tag);

std::string host_name();

/// "PREFIX-NAME", or the name when there is no prefix.
std::string prefixed(const std::string& prefix, const std::string& name);

/// Seconds since 1970.
double unix_time_s();

}  // namespace s2s::trackers

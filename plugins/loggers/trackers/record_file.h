#pragma once
// Files that loggers append to, and names below a folder.

#include <chrono>
#include <cstddef>
#include <functional>
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

/// The text of a small file, or "" when there is none. Errors: std::system_error.
std::string text_of_file(const std::string& path);

/// Reads a file of any size: one block of it is in memory.
class InputFile {
 public:
  /// Errors: std::system_error with the path, also for what is no regular file.
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  size_t size() const { return size_; }
  /// `num_bytes` bytes from `at` on, less at the end of the file; valid until the next call.
  std::string_view read(size_t at, size_t num_bytes);

 private:
  std::string path_;
  int file_ = -1;
  size_t size_ = 0;
  std::string block_;
  size_t block_at_ = 0;
};

/// Calls `visit` with each complete line of a file, without its line break, until it returns false.
/// No file has no lines. Errors: std::system_error with the path; EFBIG for a line of more than 16
/// MiB.
void visit_lines(const std::string& path, const std::function<bool(const std::string&)>& visit);

/// Replaces a file by `begin` and what `change` returns for each of its complete lines. Only a
/// block is in memory. Errors: as of visit_lines and replace_file.
void rewrite_lines(const std::string& path, std::string_view begin,
                   const std::function<std::string(const std::string&)>& change);

/// A relative path made of a tag: letters, digits and _-. stay, all else becomes _, and no part is
/// empty, "." or "..".
std::string path_of_tag(std::string_view tag);

std::string host_name();

/// "PREFIX-NAME", or the name when there is no prefix.
std::string prefixed(const std::string& prefix, const std::string& name);

/// Seconds since 1970.
double unix_time_s();

}  // namespace s2s::trackers

#pragma once
// Reads lines of a text file, plain or gzip (several members are allowed).

#include <cstdint>
#include <memory>
#include <string>

namespace s2s::data {

class LineReader {
 public:
  /// Errors: [data/missing-file]; [io/file] for a named pipe or a device.
  explicit LineReader(const std::string& path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// Reads the next line without its line end; returns false at the end of the file.
  /// Errors: [data/gzip] with the last good line, or for a compressed file with more content than
  /// its size allows (a line counts as at least 64 bytes); [data/json] for a line longer than
  /// files::kMostLineBytes.
  bool next(std::string& line);
  /// Number of the line that `next` returned, from 1.
  int64_t line() const { return line_; }

 private:
  bool fill();

  struct File;
  std::unique_ptr<File> file_;
  std::string path_;
  std::string buffer_;
  size_t position_ = 0;
  int64_t line_ = 0;
};

}  // namespace s2s::data

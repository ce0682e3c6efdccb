#pragma once
// What a rank prints: line by line to standard error with the rank before it, or to a file.

#include <cstddef>
#include <deque>
#include <fstream>
#include <string>

namespace s2s::launch {

class RankOutput {
 public:
  /// `log_folder`: "" for standard error. Errors: [io/write] when the file cannot be opened.
  RankOutput(int rank, const std::string& log_folder);

  /// Lines are escaped on standard error; the file has them as they are.
  void add(const char* data, size_t size);
  /// What the rank ends with. True when it stands in a file and need not be shown.
  bool add_message(const std::string& message);
  /// The output has ended; what stands there without a line's end is a line, too.
  void end();
  /// The last lines, oldest first; at most twenty.
  const std::deque<std::string>& last_lines() const { return last_lines_; }
  /// Where all of it is, or "".
  const std::string& file() const { return file_; }

 private:
  void add_line(std::string line);
  void keep(std::string line);

  std::string prefix_;
  std::string file_;
  std::ofstream log_;
  std::string pending_;
  std::deque<std::string> last_lines_;
};

}  // namespace s2s::launch

#pragma once
// The output of a rank, written line by line to a file, or to standard error with the rank as
// prefix.

#include <cstddef>
#include <deque>
#include <fstream>
#include <string>

namespace s2s::launch {

class RankOutput {
 public:
  /// `log_folder`: "" for standard error. Errors: [io/write] when the file cannot be opened.
  RankOutput(int rank, const std::string& log_folder);

  /// Adds output. Standard error gets escaped lines; the file gets the original bytes.
  void add(const char* data, size_t size);
  /// Adds the final message. Returns true when it was written to a file, so that it need not be
  /// shown.
  bool add_message(const std::string& message);
  /// Ends the output. Text after the last newline counts as a line.
  void end();
  /// The last lines (at most twenty), oldest first.
  const std::deque<std::string>& last_lines() const { return last_lines_; }
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

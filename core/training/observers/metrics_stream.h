#pragma once
// The metrics of a training on standard output, for a program that drives it (`train --json`).

#include <string>

namespace s2s::run {

/// Prints JSON lines to standard output: {"run": FOLDER} first, then each line of metrics.jsonl as
/// it is written. Lines of a resumed run that are in the file already are not printed again.
class MetricsStream {
 public:
  explicit MetricsStream(const std::string& run_folder);
  void print(const std::string& line) const;
  /// Whether the reader of standard output has gone away. False when it is a file or a terminal.
  bool is_reader_gone() const;
};

}  // namespace s2s::run

#pragma once
// RunLogger: receives the same values as metrics.jsonl. Kind `logger`.

#include <cstdint>
#include <map>
#include <string>

namespace s2s {

/// Receives the metrics of a run. Kind `logger`.
class RunLogger {
 public:
  virtual ~RunLogger();
  /// Logs the values of an optimizer step (0-based), by name.
  virtual void log(int64_t step, const std::map<std::string, double>& values) = 0;
  /// Writes all logged values to storage before it returns. Called at checkpoints and at the end.
  virtual void flush() = 0;
};

}  // namespace s2s

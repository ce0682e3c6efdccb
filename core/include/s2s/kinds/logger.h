#pragma once
// RunLogger: receives what metrics.jsonl gets. Kind `logger`.

#include <cstdint>
#include <map>
#include <string>

namespace s2s {

/// Receives the numbers of a run. Kind `logger`.
class RunLogger {
 public:
  virtual ~RunLogger();
  /// Numbers of an optimizer step (0-based), by name.
  virtual void log(int64_t step, const std::map<std::string, double>& values) = 0;
  /// What was logged is stored on return. Called at checkpoints and at the end.
  virtual void flush() = 0;
};

}  // namespace s2s

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
  virtual void log(int64_t step, const std::map<std::string, double>& values) = 0;
  virtual void flush() = 0;
};

}  // namespace s2s

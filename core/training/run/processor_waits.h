#pragma once
// Notices that the training threads have to wait for a processor.

#include <string>
#include <vector>

namespace s2s::run {

/// How long the calling thread and LibTorch's OpenMP threads were ready to run while something else
/// had the processor. Source: /proc/self/task/TID/schedstat of Linux, second number.
class ProcessorWaits {
 public:
  /// Starts LibTorch's threads if they do not run yet.
  ProcessorWaits();
  /// Seconds since the last call, or since the construction, of the thread that waited longest.
  /// 0 where the system does not say.
  double since_last_call();

 private:
  struct Thread {
    std::string file;     // its schedstat
    double waited_s = 0;  // at the last call
  };
  std::vector<Thread> threads_;
};

}  // namespace s2s::run

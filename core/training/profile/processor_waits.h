#pragma once
// Notices that the training threads have to wait for a processor.

#include <string>
#include <vector>

namespace s2s::run {

/// How much the calling thread and LibTorch's OpenMP threads were ready to run while something else
/// had the processor. Source: /proc/self/task/TID/schedstat of Linux, second number.
class ProcessorWaits {
 public:
  /// Starts LibTorch's threads if they do not run yet.
  ProcessorWaits();
  /// The share of the last second or more that the thread that waited longest spent so. 0 in the
  /// first second, and where the system does not say. Cheap: the system is asked once a second.
  double share();

 private:
  struct Thread {
    std::string file;     // its schedstat
    double waited_s = 0;  // when the system was asked
  };
  std::vector<Thread> threads_;
  double asked_s_;  // time of the steady clock
  double share_ = 0;
};

}  // namespace s2s::run

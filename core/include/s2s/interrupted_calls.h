#pragma once
// System calls that a signal interrupts are made again, but not for ever: where each call is
// interrupted (a kernel, a tracer or a preloaded library that fails), a program would never end and
// say nothing.

#include <cerrno>

namespace s2s {

/// Counts the interruptions of one loop around a system call.
///
///   InterruptedCalls interrupted;
///   ...
///   if (count < 0 && interrupted.again()) continue;
///   if (count < 0) throw ...;     // also EINTR, after 1,000 in a row
class InterruptedCalls {
 public:
  /// Whether the call that has just failed is to be made again: errno is EINTR, and it has not been
  /// 1,000 times in a row.
  bool again() {
    if (errno != EINTR) return false;
    return ++in_a_row_ < kMost;
  }
  /// A call succeeded.
  void reset() { in_a_row_ = 0; }

 private:
  static constexpr int kMost = 1000;
  int in_a_row_ = 0;
};

}  // namespace s2s

#pragma once
// ^C, SIGTERM and SIGUSR1: the first asks for a stop at the next good moment; a second ^C or
// SIGTERM stops at once.

namespace s2s {

/// Catches SIGINT, SIGTERM and SIGUSR1 while it lives; one at a time in a process. A second SIGINT
/// or SIGTERM clears the terminal's status line and ends the process with 128 + its number (130 for
/// ^C); a SIGUSR1 does not count.
class InterruptWatch {
 public:
  /// `announcement`: a line for standard error at the first signal; has to outlive the watch.
  explicit InterruptWatch(const char* announcement = nullptr);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  /// True from the first signal on.
  bool requested() const;
  /// The first signal's number, 0 before.
  int signal_number() const;
  /// Asks for the stop as a signal would (a time limit, a test).
  void request(int signal_number);
};

}  // namespace s2s

#pragma once
// ^C, SIGTERM, SIGUSR1 and SIGHUP: the first asks for a stop at the next good moment; a second ^C
// or SIGTERM stops at once.

namespace s2s {

/// Catches SIGINT, SIGTERM, SIGUSR1 and SIGHUP while it lives; one at a time in a process. A second
/// SIGINT or SIGTERM clears the terminal's status line and ends the process with 128 + its number
/// (130 for ^C); SIGUSR1 and SIGHUP do not count. A SIGHUP that was ignored before (nohup) stays
/// ignored. SIGUSR1 and SIGHUP that were held back come at once.
class InterruptWatch {
 public:
  /// `announcement`: a line for standard error at the first signal; has to outlive the watch.
  /// `of_terminate`: in its place where that is SIGTERM, which nobody has typed; null: the same.
  explicit InterruptWatch(const char* announcement = nullptr, const char* of_terminate = nullptr);
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

/// True from the first signal that a living InterruptWatch has caught; false where there is none.
/// For long computations that have no watch of their own. Thread-safe.
bool interrupt_requested();
/// Holds SIGUSR1 and SIGHUP back, which would end the process, until there is an InterruptWatch: a
/// batch system's warning may come while libraries are loaded. Calls only what is allowed before
/// libraries are initialized. Call it on the first thread, before others start.
void hold_warnings();

/// From now on, writing to a reader that has gone away (a dead `tee`, `2>&1 | head`, a rank that
/// closed its connection) is an error of the write and does not end the process by SIGPIPE.
/// Processes that this one starts do not inherit it. A handler of the program's own stays.
void outlive_readers();

}  // namespace s2s

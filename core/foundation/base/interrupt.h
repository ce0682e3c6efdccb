#pragma once
// Handles ^C, SIGTERM, SIGUSR1 and SIGHUP. The first signal requests a stop at the next safe
// moment; a second ^C or SIGTERM stops at once.

namespace s2s {

/// Catches SIGINT, SIGTERM, SIGUSR1 and SIGHUP while it exists. A process may have one at a time. A
/// second SIGINT or SIGTERM clears the terminal's status line and ends the process with 128 + its
/// number (130 for ^C); SIGUSR1 and SIGHUP do not count. A SIGHUP that was ignored before (nohup)
/// stays ignored. SIGUSR1 and SIGHUP that hold_warnings has blocked arrive at once.
class InterruptWatch {
 public:
  /// `announcement` is a line for standard error at the first signal; it must outlive the watch.
  /// `of_terminate` replaces it for SIGTERM, which nobody has typed; null: the same line.
  explicit InterruptWatch(const char* announcement = nullptr, const char* of_terminate = nullptr);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  /// Whether a signal has arrived.
  bool requested() const;
  /// Number of the first signal; 0 before.
  int signal_number() const;
  /// Requests a stop as a signal would (for a time limit or a test).
  void request(int signal_number);
};

/// Whether an existing InterruptWatch has caught a signal; false without one. For long computations
/// that have no watch of their own. Thread-safe.
bool interrupt_requested();
/// Blocks SIGUSR1 and SIGHUP, which would end the process, until an InterruptWatch exists: a batch
/// system's warning may come while libraries are loaded. Calls only functions that are allowed
/// before libraries are initialized. To be called on the first thread, before other threads start.
void hold_warnings();

/// From now on, writing to a reader that has ended (a dead `tee`, `2>&1 | head`, a rank that closed
/// its connection) is an error of the write and does not end the process by SIGPIPE. Child
/// processes do not inherit this. A handler that the program has set is kept.
void outlive_readers();

}  // namespace s2s

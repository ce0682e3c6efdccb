#pragma once
// Signals that ask for a flight record, and those that end a process which had better write one.

#include <optional>
#include <string>

namespace s2s {

/// While it lives: SIGUSR2 asks for a record; SIGTERM does where it would have ended the process;
/// SIGABRT, SIGSEGV, SIGBUS, SIGFPE and SIGILL wait a moment for one, on a stack of their own where
/// the constructor's thread has used up its stack, and other threads that crash meanwhile wait for
/// the end; so does an exception that nobody catches (back ends throw on threads of their own).
/// Handlers only leave notes: a thread has to look at them. One at a time in a process.
class FlightSignals {
 public:
  FlightSignals();
  ~FlightSignals();
  FlightSignals(const FlightSignals&) = delete;
  FlightSignals& operator=(const FlightSignals&) = delete;

  /// SIGUSR2 has come since the last call.
  bool take_request();
  /// The signal that is about to end this process, or 0; after `record_is_written` it does.
  int fatal() const;
  void record_is_written();
  /// The text of an exception that nobody catches, once; after `record_is_written` it aborts.
  std::optional<std::string> take_uncaught();
  /// SIGTERM has come, and nobody else takes it; `end_by_it` does what it would have done.
  bool is_terminated() const;
  [[noreturn]] static void end_by_it();
};

}  // namespace s2s

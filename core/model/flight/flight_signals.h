#pragma once
// Handles signals that request a flight record, and fatal signals before which a record is written.

#include <optional>
#include <string>

namespace s2s {

/// During its lifetime: SIGUSR2 requests a record. SIGTERM requests one if it would end the
/// process. SIGABRT, SIGSEGV, SIGBUS, SIGFPE and SIGILL wait a moment for a record. Their handlers
/// use a separate stack for the constructor's thread, which may have overflowed its own. Other
/// threads that crash at the same time wait for the end. An uncaught exception waits for a record,
/// too (back ends throw on their own threads). Handlers only set flags, and a thread must poll
/// them. Only one object may exist in a process.
class FlightSignals {
 public:
  FlightSignals();
  ~FlightSignals();
  FlightSignals(const FlightSignals&) = delete;
  FlightSignals& operator=(const FlightSignals&) = delete;

  /// Returns true if SIGUSR2 arrived since the last call.
  bool take_request();
  /// Returns the signal that is about to end this process, or 0. The process ends after
  /// `record_is_written`.
  int fatal() const;
  void record_is_written();
  /// Returns the text of an uncaught exception once. The process aborts after `record_is_written`.
  std::optional<std::string> take_uncaught();
  /// Returns true when SIGTERM arrived and no other handler takes it. `end_by_it` ends the process.
  bool is_terminated() const;
  [[noreturn]] static void end_by_it();
};

}  // namespace s2s

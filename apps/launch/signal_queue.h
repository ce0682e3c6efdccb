#pragma once
// Receives signals through a file descriptor.

#include <csignal>
#include <optional>

namespace s2s::launch {

/// Blocks SIGCHLD and the forwarded signals during its lifetime, and queues them.
class SignalQueue {
 public:
  SignalQueue();
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  /// Readable when a signal is pending.
  int descriptor() const { return descriptor_; }
  std::optional<int> next() const;
  /// The previous signal mask, for child processes.
  const sigset_t& old_mask() const { return old_mask_; }
  /// A signal that asks the run to end was received.
  bool asked_to_end = false;

 private:
  int descriptor_ = -1;
  sigset_t old_mask_ = {};
};

}  // namespace s2s::launch

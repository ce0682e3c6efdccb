#pragma once
// Signals as something to read instead of something that interrupts.

#include <csignal>
#include <optional>

namespace s2s::launch {

/// Takes SIGCHLD and the signals that launchers hand on, while it lives.
class SignalQueue {
 public:
  SignalQueue();
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  /// Becomes readable when a signal has come.
  int descriptor() const { return descriptor_; }
  /// The next signal, if one has come.
  std::optional<int> next() const;
  /// The mask from before, for children.
  const sigset_t& old_mask() const { return old_mask_; }
  /// One of the handed-on signals has come.
  bool asked_to_end = false;

 private:
  int descriptor_ = -1;
  sigset_t old_mask_ = {};
};

}  // namespace s2s::launch

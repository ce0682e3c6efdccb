#pragma once
// A point in time of a device.

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <memory>

namespace s2s {

/// Seconds of a monotonic clock: wall time, or CPU time of this thread.
double now_s(bool processor_time = false);

/// A point in time. On a device that computes asynchronously it is an event on its current stream;
/// recording it does not wait. On a CPU it is the host's clock.
class Moment {
 public:
  /// Records the current time. With `processor_time`, measures this thread's CPU time (CPU only).
  explicit Moment(at::Device device, bool processor_time = false);
  /// Seconds from `earlier` to this moment. Waits until the device has passed both.
  double since(const Moment& earlier) const;
  /// Does the same without waiting, if it is known that the device has passed both moments.
  double since_passed(const Moment& earlier) const;

 private:
  double host_s_ = 0;
  std::shared_ptr<c10::Event> event_;  // null on a CPU
};

}  // namespace s2s

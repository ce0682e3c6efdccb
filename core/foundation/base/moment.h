#pragma once
// A point in time of a device.

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <memory>

namespace s2s {

/// Seconds of a monotonic clock: wall time, or CPU time of this thread.
double now_s(bool processor_time = false);

/// A point in time. On a device that computes asynchronously this is an event on its current
/// stream, which nobody waits for here. On a CPU it is the host's clock.
class Moment {
 public:
  /// Now. `processor_time`: count what this thread computes instead (CPU only).
  explicit Moment(at::Device device, bool processor_time = false);
  /// Seconds from `earlier` to this moment. Waits until the device has passed both.
  double since(const Moment& earlier) const;
  /// The same when the device is known to have passed both: the host does not wait.
  double since_passed(const Moment& earlier) const;

 private:
  double host_s_ = 0;
  std::shared_ptr<c10::Event> event_;  // null on a CPU
};

}  // namespace s2s

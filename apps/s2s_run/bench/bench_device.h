#pragma once
// The device that a bench measures: which one, what time it is there, and how much of its memory
// was used. The same code measures a CPU.

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <cstdint>
#include <optional>
#include <string>

namespace s2s::run {

/// The help text of --device.
constexpr const char* kDeviceDoc = "cpu, gpu, or auto: the GPU if there is one";

/// Returns the device that --device asks for. From now on LibTorch computes as in a run with
/// default options (run/numerics.h). Errors: [config/accelerator].
at::Device bench_device(const std::string& accelerator);

/// Waits until the device has finished its work. Returns at once on a CPU.
void wait_for_device(at::Device device);

/// A point in time. On a device that computes asynchronously this is an event on its current
/// stream, which nobody waits for here. On a CPU it is the host's clock.
class Moment {
 public:
  /// Now. `processor_time`: count what this thread computes instead (CPU only).
  explicit Moment(at::Device device, bool processor_time = false);
  /// Seconds from `earlier` to this moment. Waits until the device has passed both.
  double since(const Moment& earlier) const;

 private:
  double host_s_ = 0;
  std::optional<c10::Event> event_;
};

/// Peaks of a device's caching allocator since `reset_device_peaks`. Units: bytes.
struct DevicePeaks {
  int64_t allocated = 0;
  int64_t reserved = 0;
};
/// Returns nothing for a CPU; see peak_memory_bytes.
std::optional<DevicePeaks> device_peaks(at::Device device);
/// Resets the peaks to what is in use now.
void reset_device_peaks(at::Device device);
/// Returns unused cached memory to the device.
void empty_device_cache(at::Device device);

}  // namespace s2s::run

#pragma once
// The device that a bench measures: which one, what time it is there, and how much of its memory
// was used. The same code measures a CPU.

#include <c10/core/Device.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/moment.h"

namespace s2s::run {

/// The help text of --device.
constexpr const char* kDeviceDoc = "cpu, gpu, or auto: the GPU if there is one";

constexpr const char* kAttentionDoc =
    "kernel of decoders' attention, as trainer.attention: auto, cudnn, flash or math";

/// Returns the device that --device asks for. From now on LibTorch computes as in a run with
/// this trainer.attention and otherwise default options (run/numerics.h). Errors:
/// [config/accelerator].
at::Device bench_device(const std::string& accelerator, const std::string& attention = "auto");

/// What was asked for, and which kernel each shape of the training steps so far took. Warnings
/// about it go to standard error.
nlohmann::ordered_json attention_json(const std::string& asked);

/// Waits until the device has finished its work. Returns at once on a CPU.
void wait_for_device(at::Device device);

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

#pragma once
// The device that a bench measures: which one, what kernels it takes, and how much of its memory
// was used. The same code measures a CPU.

#include <c10/core/Device.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "s2s_run/command_line.h"

namespace s2s::run {

struct DeviceArguments {
  std::string name = "auto";
  std::string attention = "auto";
};
void add_device_options(const Command& command, DeviceArguments& arguments);

/// Returns the device that --device asks for. From now on LibTorch computes as in a run with
/// this trainer.attention and otherwise default options (run/numerics.h). Errors:
/// [config/accelerator].
at::Device bench_device(const DeviceArguments& arguments);

/// What was asked for, and which kernel each shape of the training steps so far took. Warnings
/// about it go to standard error.
nlohmann::ordered_json attention_json(const std::string& asked);

/// Waits until the device has finished its work. Returns at once on a CPU.
void wait_for_device(at::Device device);

/// Peaks of a device's caching allocator since `take_device_memory`, in bytes. An empty object for
/// a CPU; see peak_memory_bytes.
nlohmann::ordered_json device_peaks(at::Device device);

}  // namespace s2s::run

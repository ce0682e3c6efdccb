#pragma once
// LibTorch's profiler: a timeline of what the host and the device do (Kineto), or NVTX ranges.

#include <c10/core/Device.h>

#include <functional>
#include <string>

namespace s2s::run {

/// Starts LibTorch's profiler on this thread: operators of the host, ranges (scope USER_SCOPE) and,
/// where LibTorch supports it, kernels and copies of the device. `shapes`: of the operators'
/// inputs. Only one may run in a process. Waits for the device.
void start_device_trace(at::Device device, bool shapes);
/// Waits for the device, stops the profiler and writes the timeline: JSON, for Perfetto,
/// chrome://tracing and TensorBoard. Errors: [io/write].
void stop_device_trace(at::Device device, const std::string& path);

/// Starts NVTX ranges for the operators and ranges of this thread, as PyTorch's emit_nvtx does.
/// `shapes`: names include the shapes of inputs. Returns what is in the way, or "".
std::string start_nvtx_ranges(bool shapes);
void stop_nvtx_ranges();

/// Runs `body` under the profiler, with shapes, and writes the timeline. Errors: [io/write].
void write_device_trace(const std::string& path, at::Device device,
                        const std::function<void()>& body);

}  // namespace s2s::run

#pragma once
// A timeline of what the host and the device do, as LibTorch's profiler (Kineto) writes it.

#include <c10/core/Device.h>

#include <functional>
#include <string>

namespace s2s::run {

/// Runs `body` under the profiler and writes its timeline (JSON, for Perfetto or chrome://tracing):
/// operators of the host and, where LibTorch supports it, kernels and copies of the device.
/// Errors: [io/write].
void write_device_trace(const std::string& path, at::Device device,
                        const std::function<void()>& body);

}  // namespace s2s::run

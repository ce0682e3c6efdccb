#pragma once
// Memory of the test device: a file in memory, mapped twice. Tensors have addresses of the first
// mapping, which nobody may touch. Operators work on the second one. The host's memory that is
// pinned is here, too.

#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <cstddef>

namespace s2s::test_device {

bool is_device_address(const void* address);
/// The same byte, where operators find it. Null stays null.
void* host_address(const void* device);

c10::DeviceAllocator& device_allocator();
at::HostAllocator& pinned_allocator();
bool is_pinned(const void* address);

/// `stream` uses the memory that begins at `device`, which is not handed out again before.
void record_use(const void* device, c10::StreamId stream);

/// Says what happened when the host touches memory of the device, before the process ends by it.
void watch_for_faults();

}  // namespace s2s::test_device

#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace s2s {

/// The memory that LibTorch's allocator holds on a device; zeros for a CPU and for devices without
/// statistics.
struct DeviceMemory {
  int64_t peak_bytes = 0;      // of tensors, the most since the last call
  int64_t reserved_bytes = 0;  // taken from the device now, freed memory that is kept included
};

/// Reads the statistics and starts a new peak.
DeviceMemory take_device_memory(const c10::Device& device);

/// Returns unused memory to the device, because the next batches have other widths.
void release_device_memory(const c10::Device& device);

}  // namespace s2s

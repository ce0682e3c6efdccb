#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace s2s {

/// What LibTorch's allocator holds of a device; zeros for a CPU and for devices whose allocator
/// does not count. Not yet run on a GPU.
struct DeviceMemory {
  int64_t peak_bytes = 0;      // of tensors, the most since the last call
  int64_t reserved_bytes = 0;  // taken from the device now, freed memory that is kept included
};

/// Reads the figures and starts a new peak.
DeviceMemory take_device_memory(const c10::Device& device);

/// Gives the device memory back that no tensor uses: batches of other widths come next.
void release_device_memory(const c10::Device& device);

}  // namespace s2s

#include "train/device_memory.h"

#include <c10/core/CachingDeviceAllocator.h>

namespace s2s {
namespace {

c10::DeviceAllocator* allocator_of(const c10::Device& device) {
  if (device.is_cpu()) return nullptr;
  return dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(device.type()));
}

}  // namespace

DeviceMemory take_device_memory(const c10::Device& device) {
  c10::DeviceAllocator* const allocator = allocator_of(device);
  if (allocator == nullptr) return {};
  const auto stats = allocator->getDeviceStats(device.index());
  allocator->resetPeakStats(device.index());
  return {stats.allocated_bytes[0].peak, stats.reserved_bytes[0].current};  // 0: of all pools
}

void release_device_memory(const c10::Device& device) {
  if (c10::DeviceAllocator* const allocator = allocator_of(device)) allocator->emptyCache();
}

}  // namespace s2s

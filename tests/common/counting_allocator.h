#pragma once
// Counts the bytes of tensors on the CPU that are there.

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

namespace s2s::test {

/// Replaces LibTorch's CPU allocator for the rest of the process.
class CountingAllocator : public c10::Allocator {
 public:
  static CountingAllocator& instance() {
    static auto* const allocator = [] {
      auto* const made = new CountingAllocator;  // tensors may outlive everything
      c10::SetCPUAllocator(made, /*priority=*/100);
      return made;
    }();
    return *allocator;
  }

  int64_t live_bytes() {
    const std::lock_guard lock(mutex_);
    return live_;
  }

  /// The most that was there at a time, since forget_peak.
  int64_t peak_bytes() {
    const std::lock_guard lock(mutex_);
    return peak_;
  }
  void forget_peak() {
    const std::lock_guard lock(mutex_);
    peak_ = live_;
  }

  c10::DataPtr allocate(size_t bytes) override {
    void* const data = std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    const std::lock_guard lock(mutex_);
    sizes_[data] = static_cast<int64_t>(bytes);
    live_ += static_cast<int64_t>(bytes);
    peak_ = std::max(peak_, live_);
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  static void release(void* data) {
    CountingAllocator& self = instance();
    const std::lock_guard lock(self.mutex_);
    const auto entry = self.sizes_.find(data);
    if (entry != self.sizes_.end()) {
      self.live_ -= entry->second;
      self.sizes_.erase(entry);
    }
    std::free(data);
  }

  std::mutex mutex_;
  std::unordered_map<void*, int64_t> sizes_;
  int64_t live_ = 0, peak_ = 0;
};

}  // namespace s2s::test

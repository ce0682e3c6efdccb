#include "device/backend/memory.h"

#include <execinfo.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "device/backend/streams.h"

namespace s2s::test_device {
namespace {

constexpr size_t kArenaBytes = size_t{1} << 35;  // of addresses; pages come when they are touched
constexpr size_t kSmallest = 512;
/// NaN of every floating dtype, and far outside of every table as an index.
constexpr int kPoison = 0xFF;

struct Block {
  size_t bytes = 0;  // a power of two
  size_t asked = 0;
  std::set<c10::StreamId> streams;
};

/// Memory that was freed last is handed out first.
class Arena {
 public:
  Arena() {
    const int file = ::memfd_create("s2s_test_device", MFD_CLOEXEC);
    const bool has_size = file >= 0 && ::ftruncate(file, static_cast<off_t>(kArenaBytes)) == 0;
    TORCH_CHECK(has_size, "the test device gets no memory: ", std::strerror(errno));
    device_ = map(file, PROT_NONE);
    host_ = map(file, PROT_READ | PROT_WRITE);
    ::close(file);
  }

  bool holds(const void* address) const {
    const auto* const byte = static_cast<const char*>(address);
    return byte >= device_ && byte < device_ + kArenaBytes;
  }
  void* host(const void* device) const {
    return host_ + (static_cast<const char*>(device) - device_);
  }

  void* take(size_t asked, c10::StreamId stream) {
    const std::lock_guard lock(streams().mutex());
    const size_t bytes = std::bit_ceil(std::max(asked, kSmallest));
    std::vector<void*>& free = free_[bytes];
    void* address = nullptr;
    if (free.empty()) {
      if (next_ + bytes > kArenaBytes) {
        throw c10::OutOfMemoryError(
            {__func__, __FILE__, __LINE__},
            "test device out of memory. Tried to allocate " + std::to_string(asked) + " bytes");
      }
      address = device_ + next_;
      next_ += bytes;
    } else {
      address = free.back();
      free.pop_back();
    }
    blocks_[address] = {bytes, asked, {stream}};
    std::memset(host(address), kPoison, asked);
    count(static_cast<int64_t>(asked));
    return address;
  }

  /// The streams that may still use it run first: the order of a stream holds for what was freed.
  void free(void* address) {
    const std::lock_guard lock(streams().mutex());
    const Block block = std::move(blocks_.at(address));
    for (const c10::StreamId stream : block.streams) streams().finish_uses(stream, address);
    std::memset(host(address), kPoison, block.asked);
    free_[block.bytes].push_back(address);
    blocks_.erase(address);
    count(-static_cast<int64_t>(block.asked));
  }

  void use(const void* address, c10::StreamId stream) {
    const std::lock_guard lock(streams().mutex());
    const auto found = blocks_.find(address);
    if (found != blocks_.end()) found->second.streams.insert(stream);
  }

  c10::CachingDeviceAllocator::DeviceStats stats() {
    const std::lock_guard lock(streams().mutex());
    c10::CachingDeviceAllocator::DeviceStats stats;
    for (auto* const one : {&stats.allocated_bytes[0], &stats.reserved_bytes[0]}) {
      one->current = now_bytes_;
      one->peak = peak_bytes_;
    }
    return stats;
  }
  void forget_peak() {
    const std::lock_guard lock(streams().mutex());
    peak_bytes_ = now_bytes_;
  }

 private:
  static char* map(int file, int protection) {
    void* const data =
        ::mmap(nullptr, kArenaBytes, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
    TORCH_CHECK(data != MAP_FAILED, "the test device gets no addresses: ", std::strerror(errno));
    return static_cast<char*>(data);
  }
  void count(int64_t bytes) {
    now_bytes_ += bytes;
    peak_bytes_ = std::max(peak_bytes_, now_bytes_);
  }

  char* device_ = nullptr;
  char* host_ = nullptr;
  size_t next_ = 0;
  std::unordered_map<const void*, Block> blocks_;
  std::map<size_t, std::vector<void*>> free_;
  int64_t now_bytes_ = 0, peak_bytes_ = 0;
};

Arena& arena() {
  static auto* const one = new Arena;  // tensors may outlive static objects
  return *one;
}

void free_device(void* address) { arena().free(address); }

class DeviceMemory final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, this_device()};
    void* const address = arena().take(bytes, current_stream());
    return {address, address, &free_device, this_device()};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_device; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(host_address(to), host_address(from), bytes);
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr& data, c10::Stream stream) override {
    arena().use(data.get(), stream.id());
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    return arena().stats();
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override { arena().forget_peak(); }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex) override {
    const auto used = static_cast<size_t>(arena().stats().allocated_bytes[0].current);
    return {kArenaBytes - used, kArenaBytes};
  }
};

/// Copies hold what they use (operators.cc), as LibTorch's allocators of pinned memory do.
class PinnedMemory final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, c10::DeviceType::CPU};
    void* const data =
        std::aligned_alloc(kSmallest, (bytes + kSmallest - 1) / kSmallest * kSmallest);
    TORCH_CHECK(data != nullptr, "no memory to pin: ", bytes, " bytes");
    std::memset(data, kPoison, bytes);
    const std::lock_guard lock(mutex_);
    ends_[static_cast<char*>(data)] = static_cast<char*>(data) + bytes;
    return {data, data, &free_pinned, c10::DeviceType::CPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
  bool record_event(void*, void*, c10::Stream) override { return true; }
  void empty_cache() override {}
  at::HostStats get_stats() override { return {}; }
  void reset_accumulated_stats() override {}
  void reset_peak_stats() override {}

  bool holds(const void* address) {
    const std::lock_guard lock(mutex_);
    const auto* const byte = static_cast<const char*>(address);
    const auto after = ends_.upper_bound(byte);
    return after != ends_.begin() && byte < std::prev(after)->second;
  }

 private:
  static void free_pinned(void* data);

  std::mutex mutex_;
  std::map<const char*, const char*> ends_;
};

PinnedMemory& pinned_memory() {
  static auto* const one = new PinnedMemory;
  return *one;
}

void PinnedMemory::free_pinned(void* data) {
  PinnedMemory& self = pinned_memory();
  const std::lock_guard lock(self.mutex_);
  const auto found = self.ends_.find(static_cast<char*>(data));
  std::memset(data, kPoison, static_cast<size_t>(found->second - found->first));
  self.ends_.erase(found);
  std::free(data);
}

struct sigaction previous_action;

/// Only what may be called in a handler.
void on_fault(int, siginfo_t* info, void*) {
  if (arena().holds(info->si_addr)) {
    constexpr char kText[] =
        "test device: the host touched memory of the device outside of an operator\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText, sizeof(kText) - 1);
    void* frames[48];
    ::backtrace_symbols_fd(frames, ::backtrace(frames, 48), STDERR_FILENO);
  }
  ::sigaction(SIGSEGV, &previous_action, nullptr);  // the same access faults again
}

}  // namespace

bool is_device_address(const void* address) { return arena().holds(address); }

void* host_address(const void* device) {
  return device == nullptr ? nullptr : arena().host(device);
}

c10::DeviceAllocator& device_allocator() {
  static auto* const one = new DeviceMemory;
  return *one;
}

at::HostAllocator& pinned_allocator() { return pinned_memory(); }

bool is_pinned(const void* address) { return pinned_memory().holds(address); }

void record_use(const void* device, c10::StreamId stream) { arena().use(device, stream); }

void watch_for_faults() {
  arena();
  void* frame[1];
  ::backtrace(frame, 1);  // loads what it needs
  struct sigaction action = {};
  action.sa_sigaction = &on_fault;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, &previous_action);
}

}  // namespace s2s::test_device

#include "loader/batch_memory.h"

#include <ATen/Functions.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>
#include <vector>

namespace s2s::data {

/// Blocks that no tensor uses. Their number is at most the number that was in use at one time.
class BatchMemory::Blocks {
 public:
  struct Block {
    void* data = nullptr;
    /// Bytes of address space; the system provides memory for the used part only.
    size_t capacity = 0;
  };

  Blocks() = default;
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks() { close(); }

  Block get(size_t num_bytes) {
    const std::lock_guard lock(mutex_);
    const auto smaller = [](const Block& a, const Block& b) { return a.capacity < b.capacity; };
    // Prefers the smallest block that fits. The last one returned is probably still in the CPU's
    // cache.
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->capacity < num_bytes) continue;
      if (best == free_.end() || it->capacity <= best->capacity) best = it;
    }
    if (best != free_.end()) {
      const Block found = *best;
      free_.erase(best);
      return found;
    }
    const auto largest = std::max_element(free_.begin(), free_.end(), smaller);
    if (largest != free_.end()) {  // the new block replaces it
      release(*largest);
      free_.erase(largest);
    }
    return new_block(num_bytes);
  }

  void put_back(const Block& block) {
    const std::lock_guard lock(mutex_);
    if (is_closed_) {
      release(block);
    } else {
      free_.push_back(block);
    }
  }

  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    for (const Block& block : free_) release(block);
    free_.clear();
  }

 private:
  static Block new_block(size_t num_bytes) {
    constexpr size_t kSmallest = size_t{1} << 16;
    const size_t capacity = std::bit_ceil(std::max(num_bytes, kSmallest));
    void* const data =
        mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) throw std::bad_alloc();
    return {data, capacity};
  }

  static void release(const Block& block) { munmap(block.data, block.capacity); }

  std::mutex mutex_;
  std::vector<Block> free_;
  bool is_closed_ = false;
};

BatchMemory::BatchMemory() : blocks_(std::make_shared<Blocks>()) {}

BatchMemory::~BatchMemory() { keep_nothing(); }

void BatchMemory::keep_nothing() { blocks_->close(); }

at::Tensor BatchMemory::take(int64_t num_rows, int64_t num_columns) {
  const int64_t count = num_rows * num_columns;
  if (count == 0) return at::empty({num_rows, num_columns}, at::kFloat);
  const Blocks::Block block = blocks_->get(static_cast<size_t>(count) * sizeof(float));
  const auto put_back = [blocks = blocks_, block](void*) { blocks->put_back(block); };
  return at::from_blob(block.data, {num_rows, num_columns}, put_back, at::kFloat);
}

}  // namespace s2s::data

#pragma once
// Reuses the memory of batches. No step then asks the heap or the system for tens of megabytes, and
// the heap is not fragmented.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace s2s::data {

class BatchMemory {
 public:
  BatchMemory();
  /// Tensors that are still in use keep their memory.
  ~BatchMemory();
  BatchMemory(const BatchMemory&) = delete;
  BatchMemory& operator=(const BatchMemory&) = delete;

  /// Returns an uninitialized float tensor [num_rows, num_columns] on the CPU. Its memory returns
  /// to the pool when the tensor and all its views are gone. Thread-safe. Errors: std::bad_alloc.
  at::Tensor take(int64_t num_rows, int64_t num_columns);
  /// Returns unused memory to the system, now and in the future.
  void keep_nothing();

 private:
  class Blocks;
  std::shared_ptr<Blocks> blocks_;
};

}  // namespace s2s::data

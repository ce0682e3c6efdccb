#pragma once
// Memory of batches, used again once a batch is gone: no step asks the heap or the system for tens
// of megabytes, and the heap gets no holes of that size.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

namespace s2s::data {

class BatchMemory {
 public:
  BatchMemory();
  /// Tensors that are still held keep their memory.
  ~BatchMemory();
  BatchMemory(const BatchMemory&) = delete;
  BatchMemory& operator=(const BatchMemory&) = delete;

  /// A float tensor [num_rows, num_columns] on the CPU, not initialized. Its memory comes back when
  /// nobody holds it or a part of it any more. Thread-safe. Errors: std::bad_alloc.
  at::Tensor take(int64_t num_rows, int64_t num_columns);
  /// Gives what is not in use to the system, and from now on what comes back.
  void keep_nothing();

 private:
  class Blocks;
  std::shared_ptr<Blocks> blocks_;
};

}  // namespace s2s::data

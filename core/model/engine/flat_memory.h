#pragma once
// The memory of flat tensors. It can be freed and restored while the tensors exist, including those
// that autograd keeps. Freed memory is reused, so layers of equal size use the same memory in turn.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace s2s {

class FlatMemory {
 public:
  FlatMemory() = default;
  FlatMemory(const FlatMemory&) = delete;
  FlatMemory& operator=(const FlatMemory&) = delete;

  /// Returns an uninitialized flat tensor. On the CPU, large tensors use separate pages.
  at::Tensor tensor(int64_t numel, const at::TensorOptions& options);
  /// Frees the memory of `tensor` and of all tensors that share it. Do not read them until it is
  /// restored.
  void free(const at::Tensor& tensor);
  /// Releases all unused memory, except blocks of this size.
  void forget_but(size_t bytes);
  /// Allocates the memory again, uninitialized. Does nothing when it is allocated.
  void restore(const at::Tensor& tensor);

 private:
  c10::DataPtr take(size_t bytes, c10::StorageImpl& storage);
  std::vector<std::pair<size_t, c10::DataPtr>> free_;
};

}  // namespace s2s

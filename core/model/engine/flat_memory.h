#pragma once
// Memory of flat tensors. It comes and goes while tensors stay, also those that autograd keeps, and
// it is handed on: layers of one size use the same memory one after the other.

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

  /// A flat tensor whose content is undefined. On the CPU large ones have pages of their own.
  at::Tensor tensor(int64_t numel, const at::TensorOptions& options);
  /// Takes the memory behind `tensor` and everything that shares it away. Nobody may read it then.
  void free(const at::Tensor& tensor);
  /// Gives back what nobody uses, but for memory of this size.
  void forget_but(size_t bytes);
  /// Gives it memory again, with undefined content. Nothing happens where there is some.
  void restore(const at::Tensor& tensor);

 private:
  c10::DataPtr take(size_t bytes, c10::StorageImpl& storage);
  std::vector<std::pair<size_t, c10::DataPtr>> free_;
};

}  // namespace s2s

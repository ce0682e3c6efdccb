#pragma once
// Tensors of the device as the CPU's kernels take them, for the time of one operator.

#include <ATen/core/Tensor.h>

#include <utility>
#include <vector>

namespace s2s::test_device {

/// A tensor of the device without memory of its own.
at::Tensor device_tensor(const c10::Storage& storage, const at::Tensor& like);

class OnHost {
 public:
  /// The same elements in a tensor of the CPU. Two tensors of one storage share one here, too.
  at::Tensor host(const at::Tensor& device);
  /// What a kernel returned: an argument itself, a view of one, or new elements, on the device.
  at::Tensor device(const at::Tensor& host) const;
  /// Takes over new sizes and memory of arguments that a kernel changed.
  void settle() const;

 private:
  c10::Storage host_storage(const c10::Storage& device);

  struct Pair {
    at::Tensor device, host;
  };
  std::vector<Pair> tensors_;
  std::vector<std::pair<c10::Storage, c10::Storage>> storages_;  // device, host
};

}  // namespace s2s::test_device

#include "device_memory.h"

#include <algorithm>

#include "kernel_macros.h"

namespace s2s::cuda {

void* pointer(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.mutable_data_ptr() : nullptr;
}

bool are_aligned(std::initializer_list<at::Tensor> tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) {
    return reinterpret_cast<uintptr_t>(pointer(tensor)) % kLoadBytes == 0;
  });
}

bool have_aligned_strides(std::initializer_list<at::Tensor> tensors, int64_t dims) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const at::Tensor& tensor) {
    if (!tensor.defined()) return true;
    const auto size = static_cast<int64_t>(tensor.element_size());
    const auto strides = tensor.strides().slice(0, static_cast<size_t>(dims));
    return std::all_of(strides.begin(), strides.end(),
                       [&](int64_t stride) { return stride * size % kLoadBytes == 0; });
  });
}

}  // namespace s2s::cuda

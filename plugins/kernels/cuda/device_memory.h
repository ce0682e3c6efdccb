#pragma once
// Tensors as kernels take them.

#include <ATen/core/Tensor.h>

#include <initializer_list>

namespace s2s::cuda {

/// The address of the first element; null for an undefined tensor.
void* pointer(const at::Tensor& tensor);

/// True if each tensor begins at a multiple of kLoadBytes; undefined ones do.
bool are_aligned(std::initializer_list<at::Tensor> tensors);

/// True if the first `dims` strides of each tensor, too, are multiples of kLoadBytes.
bool have_aligned_strides(std::initializer_list<at::Tensor> tensors, int64_t dims);

}  // namespace s2s::cuda

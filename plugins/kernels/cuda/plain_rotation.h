#pragma once
// Rotation of heads as a formula of LibTorch, where no kernel can be compiled. What it returns is
// what the operators of s2s return (core/model/nn/operators.cc).

#include <ATen/core/Tensor.h>

namespace s2s::cuda {

/// x [B, T, heads, D] of any strides; cos, sin [T, D] float32 -> the same sizes, contiguous.
at::Tensor plain_rotation(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                          bool is_inverse);

}  // namespace s2s::cuda

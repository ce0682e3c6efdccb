#pragma once
// The product that layers are made of.

#include <ATen/core/Tensor.h>

namespace s2s {

/// x W^T + b, with gradients of all three; on the CPU a few rows that want no gradient, which is
/// what generation multiplies, have kernels of their own (nn/small_gemm.h).
/// Shapes: x [..., in], weight [out, in], bias [out] or undefined -> [..., out].
at::Tensor affine(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

}  // namespace s2s

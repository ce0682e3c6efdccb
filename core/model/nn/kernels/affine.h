#pragma once
// The matrix product of linear layers.

#include <ATen/core/Tensor.h>

namespace s2s {

/// Returns x W^T + b, differentiable in all three. On the CPU, products of a few rows without
/// gradients, as in generation, use separate kernels.
/// Shapes: x [..., in], weight [out, in], bias [out] or undefined -> [..., out].
at::Tensor affine(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

}  // namespace s2s

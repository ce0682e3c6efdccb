#pragma once
// Matrix products by the faster of the two libraries inside LibTorch.
//
// For float32 LibTorch always asks MKL, which on processors of other makers leaves AVX-512 unused;
// oneDNN, which LibTorch itself takes for bfloat16, then computes the same sums in half the time.
// Everything that is not a float32 product on such a processor goes LibTorch's usual way.

#include <ATen/core/Tensor.h>

namespace s2s {

/// x W^T + b, with gradients of all three.
/// Shapes: x [..., in], weight [out, in], bias [out] or undefined -> [..., out].
at::Tensor affine(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

/// a b, without gradients. Shapes: [M, K] [K, N] -> [M, N], or a batch of each [B, ...].
at::Tensor product(const at::Tensor& a, const at::Tensor& b);

/// sum += a b, without gradients; `sum` is contiguous, of the product's shape.
void add_product(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b);

}  // namespace s2s

#pragma once
// The CPU's implementation of the operators s2s::rotate_qk and s2s::rotate_qkv_, with the backward
// of the latter.

#include <ATen/core/Tensor.h>

#include <tuple>

namespace s2s {

/// q [B, T, heads, D], k [B, T, kv, D], float32 or bfloat16; cos and sin [T, D] float32, contiguous
/// -> the rotated ones, contiguous. is_inverse: rotates back.
std::tuple<at::Tensor, at::Tensor> rotate_qk_rows(const at::Tensor& q, const at::Tensor& k,
                                                  const at::Tensor& cos, const at::Tensor& sin,
                                                  bool is_inverse);
/// Rotates queries and keys of qkv [B, T, (num_heads + 2 num_kv_heads) D] in place.
void rotate_qkv_rows(const at::Tensor& qkv, const at::Tensor& cos, const at::Tensor& sin,
                     int64_t num_heads, int64_t num_kv_heads);
/// -> the gradient of the packed tensor.
at::Tensor rotate_qkv_rows_backward(const at::Tensor& dq, const at::Tensor& dk,
                                    const at::Tensor& dv, const at::Tensor& cos,
                                    const at::Tensor& sin);

}  // namespace s2s

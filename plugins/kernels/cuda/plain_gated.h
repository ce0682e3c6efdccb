#pragma once
// Gated activations as formulas of LibTorch, where no kernel can be compiled. What they return is
// what the operators of s2s return (core/model/nn/operators.cc).

#include <ATen/core/Tensor.h>

namespace s2s::cuda {

/// gate, up [..., F], of any strides -> y [..., F].
at::Tensor plain_gated(const at::Tensor& gate, const at::Tensor& up, bool is_silu);
/// Writes the gradients into d_gate and d_up [..., F], of any strides.
void plain_gated_backward(const at::Tensor& dy, const at::Tensor& gate, const at::Tensor& up,
                          bool is_silu, const at::Tensor& d_gate, const at::Tensor& d_up);

}  // namespace s2s::cuda

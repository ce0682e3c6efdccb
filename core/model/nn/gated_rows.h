#pragma once
// The CPU's implementation of the operators s2s::gated and s2s::gated_halves, with their backwards.

#include <ATen/core/Tensor.h>

#include <tuple>

namespace s2s {

/// gate and up contiguous, alike, float32 or bfloat16 -> activation(gate) * up. The activation is
/// SiLU, or GELU with the tanh approximation.
at::Tensor gated_rows(const at::Tensor& gate, const at::Tensor& up, bool is_silu);
/// -> dgate, dup.
std::tuple<at::Tensor, at::Tensor> gated_rows_backward(const at::Tensor& dy, const at::Tensor& gate,
                                                       const at::Tensor& up, bool is_silu);
/// gate_up [..., 2 F], gate and up side by side -> [..., F].
at::Tensor gated_halves_rows(const at::Tensor& gate_up, bool is_silu);
/// -> the gradient of gate_up.
at::Tensor gated_halves_rows_backward(const at::Tensor& dy, const at::Tensor& gate_up,
                                      bool is_silu);

}  // namespace s2s

#pragma once
// Element-wise operations of a decoder as single differentiable operations. On a CPU, in float32 or
// bfloat16, each is one pass over memory (row_kernels.h). Otherwise the same formula runs as ATen
// operations (`*_plain`). Tests compare both. The norms are operators of LibTorch's dispatcher, so
// a plugin can bring kernels for another device (nn/operators.h).

#include <ATen/core/Tensor.h>

#include <utility>

#include "s2s/nn/layers.h"

namespace s2s {

/// x [..., H], weight [H]. The formula is that of RmsNorm.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps,
                    NormWeight kind = NormWeight::kFactor);
at::Tensor rms_norm_plain(const at::Tensor& x, const at::Tensor& weight, double eps,
                          NormWeight kind = NormWeight::kFactor);
/// x + y, and its norm: one operator where a plugin implements it for the device, else two.
std::pair<at::Tensor, at::Tensor> add_rms_norm(const at::Tensor& x, const at::Tensor& y,
                                               const at::Tensor& weight, double eps,
                                               NormWeight kind = NormWeight::kFactor);

/// silu(gate) * up, elementwise.
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);
at::Tensor swiglu_plain(const at::Tensor& gate, const at::Tensor& up);

/// gelu(gate) * up, elementwise, with the tanh approximation of GELU.
at::Tensor geglu(const at::Tensor& gate, const at::Tensor& up);
at::Tensor geglu_plain(const at::Tensor& gate, const at::Tensor& up);

/// Rotary position embedding in split halves: x [B, T, heads, D], tables [T, D] float32 with the
/// angles of the first half repeated.  Source: transformers apply_rotary_pos_emb.
at::Tensor rotate(const at::Tensor& x_BTHD, const at::Tensor& cos_TD, const at::Tensor& sin_TD);
at::Tensor rotate_plain(const at::Tensor& x_BTHD, const at::Tensor& cos_TD,
                        const at::Tensor& sin_TD);

}  // namespace s2s

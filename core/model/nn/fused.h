#pragma once
// Element-wise operations of a decoder as single differentiable operations. Each is an operator of
// LibTorch's dispatcher (nn/operators.h): one pass over memory on a CPU (row_kernels.h), in float32
// or bfloat16, and on a device for which a plugin brings kernels. Otherwise the same formula runs
// as ATen operations (`*_plain`). Tests compare both.

#include <ATen/core/Tensor.h>

#include <utility>

#include "s2s/nn/decoder.h"
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

/// As swiglu or geglu of gate_up [..., 2 F], in which gate and up lie side by side -> [..., F].
at::Tensor gated_halves(const at::Tensor& gate_up, GateActivation activation);

/// Rotary position embedding of queries and keys, in split halves: q [B, T, heads, D],
/// k [B, T, kv, D], tables [T, D] float32 with the angles of the first half repeated.
/// Source: transformers apply_rotary_pos_emb.
std::pair<at::Tensor, at::Tensor> rotate_qk(const at::Tensor& q_BTHD, const at::Tensor& k_BTHD,
                                            const at::Tensor& cos_TD, const at::Tensor& sin_TD);
std::pair<at::Tensor, at::Tensor> rotate_qk_plain(const at::Tensor& q_BTHD,
                                                  const at::Tensor& k_BTHD,
                                                  const at::Tensor& cos_TD,
                                                  const at::Tensor& sin_TD);

struct HeadCounts {
  int64_t num_heads = 0;  // of the queries
  int64_t num_kv_heads = 0;
};

/// [B, T, heads, D] each; rows may be apart in memory.
struct QkvHeads {
  at::Tensor q, k, v;
};

/// Splits a product [B, T, (heads + 2 kv) D] and rotates queries and keys. Takes the product over:
/// its memory holds the results where the device has a kernel, so nothing else may read it.
QkvHeads rotate_qkv(const at::Tensor& qkv_BTW, const at::Tensor& cos_TD, const at::Tensor& sin_TD,
                    const HeadCounts& heads);

/// The dtype of tables for what layers compute from `x`: float32 for kernels, which round once.
/// Otherwise that of `x`, so that not every layer casts them.
at::ScalarType rotary_table_type(const at::Tensor& x);

}  // namespace s2s

#pragma once
// Attention with soft-capped scores, which LibTorch's attention does not support.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "s2s/nn/decoder.h"

namespace s2s {

/// The factor of scores: that of `spec`, or 1 / sqrt(D).
double scale_of(const at::Tensor& q, const AttentionSpec& spec);

/// Most bytes of scores that exist at a time on a device.
inline constexpr int64_t kMostScoreBytes = int64_t{256} << 20;

/// softmax(soft_cap * tanh(q k' scale / soft_cap)) v. Scores are float32 (or wider), one per pair
/// of positions. On a CPU, and with dropout, they are kept for the backward pass. On any other
/// device only the inputs are kept: scores are computed again, for a few heads at a time
/// (`most_bytes`). Shapes: q [B, heads, T, D], k, v [B, heads, S, D], visible
/// [T, S] bool, or undefined for all.
at::Tensor attend_capped(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const at::Tensor& visible, const AttentionSpec& spec,
                         int64_t most_bytes = kMostScoreBytes);

}  // namespace s2s

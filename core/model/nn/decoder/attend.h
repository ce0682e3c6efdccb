#pragma once
// Attention over cached keys and values.

#include <ATen/core/Tensor.h>

#include "s2s/nn/decoder.h"

namespace s2s {

/// Causal attention of the newest positions, with gradients. Query heads share key/value heads in
/// order: heads / kv query heads each.
/// Shapes: q [B, heads, T, D] at the end of k, v [B, kv, S, D], S >= T  ->  [B, heads, T, D].
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const AttentionSpec& spec);

}  // namespace s2s

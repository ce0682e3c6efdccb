#pragma once
// Attention over cached keys and values.

#include <ATen/core/Tensor.h>

#include "nn/decoder/fixed_keys.h"
#include "s2s/nn/decoder.h"

namespace s2s {

/// Causal attention of the newest positions, with gradients. Query heads share key/value heads in
/// order: heads / kv query heads each.
/// Shapes: q [B, heads, T, D] at the end of k, v [B, kv, S, D], S >= T  ->  [B, heads, T, D].
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const AttentionSpec& spec);

/// Causal attention inside packed documents (SequenceInfo::documents), with gradients.
/// Shapes: q [1, heads, T, D], k, v [1, kv, T, D] -> [1, heads, T, D].
at::Tensor attend_documents(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const SequenceInfo& info, const AttentionSpec& spec);

/// Attention of one new position over memory of a fixed size, without gradients. The reach was
/// stored with the window of `spec`.
/// Shapes: q [B, heads, 1, D] -> [B, heads, 1, D].
at::Tensor attend_fixed(const at::Tensor& q_BH1D, const FixedReach& reach,
                        const AttentionSpec& spec);

}  // namespace s2s

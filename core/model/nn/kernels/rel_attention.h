#pragma once
// Attention with relative positions as one differentiable operation.
// Shape letters: B batch, T queries, U keys (U >= T), P = T + U - 1 positions, M = heads x D.

#include <ATen/core/Tensor.h>

namespace s2s {

struct RelAttentionInput {
  at::Tensor q_BTM, k_BUM, v_BUM;
  at::Tensor p_PM;  // projected positions, from U - 1 down to -(T - 1)
  at::Tensor bias_u_HD, bias_v_HD;
  at::Tensor mask;     // added to the scores, broadcast to [B, T, U]; may be undefined
  double dropout = 0;  // of the attention weights
  // Products with the positions have a multiple of so many columns. 0: 1 on a CPU, 8 elsewhere. A
  // GPU is slow in 16 bits where rows do not begin at 16 bytes, and P is odd when T = U.
  int64_t column_multiple = 0;
};

/// softmax(((q + u) k^T + shift((q + v) p^T)) / sqrt(D) + mask) v. The last query is at the
/// position of the last key. Only one [B, H, T, U] tensor is kept for backward. The position scores
/// are shifted by a view and summed over the batch in one product.
/// Shapes: -> [B, T, M].   Source: Dai et al. 2019, arxiv.org/abs/1901.02860, appendix B.
at::Tensor rel_attention(const RelAttentionInput& input);

}  // namespace s2s

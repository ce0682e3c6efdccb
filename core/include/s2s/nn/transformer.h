#pragma once
// Steps of attention that layers share. Shape letters: B batch, T positions, N heads, D elements of
// a head.

#include <functional>
#include <vector>

#include "s2s/nn/sequence_state.h"

namespace s2s {

/// [B, T, N * D] -> [B, N, T, D].
at::Tensor to_heads(const at::Tensor& x, int64_t head_dim);
/// [B, N, T, D] -> [B, T, N * D].
at::Tensor from_heads(const at::Tensor& x_BNTD);

/// Rotates the pairs (j, j + D / 2) by the angles of cosines and sines [T, D], in the dtype of x.
at::Tensor rotate_halves(const at::Tensor& x_BNTD, const at::Tensor& cos_TD,
                         const at::Tensor& sin_TD);

/// Attention of some rows over their keys.
using AttendTo = std::function<at::Tensor(const at::Tensor& q, const SeenKeys& keys)>;
/// Attention of queries [B, ...] over what a state returned for their rows: one entry of keys for
/// all rows, or one for each.
at::Tensor attend_seen(const at::Tensor& q, const std::vector<SeenKeys>& seen,
                       const AttendTo& attend);

}  // namespace s2s

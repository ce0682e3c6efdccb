#pragma once
// Losses that models share.

#include <ATen/core/Tensor.h>

#include "s2s/nn/vocabulary.h"

namespace s2s {

/// Sum over rows and groups of weight * cross entropy of the logits x W^T + b. Never holds all
/// logits in memory: rows are processed in chunks, and gradients are computed together with the
/// loss.
/// Shapes: x [N, H]; labels [N, K] int64, ids of the whole vocabularies; row_weights [N, K] float32
/// or undefined (all 1). Logits are viewed as [N, K, V].
/// The softmax is in float32 for every dtype of x and weight (and under autocast). With a split
/// head, every rank of the split passes the same x and labels, and gets the whole loss, the whole
/// gradient of x and the gradient of its own rows.
at::Tensor linear_cross_entropy(const at::Tensor& x_NH, const HeadWeight& head,
                                const at::Tensor& labels_NK, const at::Tensor& row_weights_NK = {});

/// Per-row results for validation, without gradients.
struct CrossEntropyRows {
  at::Tensor loss_NK;       // float32
  at::Tensor predicted_NK;  // int64, argmax of the logits
};
/// Losses and predictions of x [N, H] and labels [N, K], as linear_cross_entropy computes them.
CrossEntropyRows linear_cross_entropy_rows(const at::Tensor& x_NH, const HeadWeight& head,
                                           const at::Tensor& labels_NK);

}  // namespace s2s

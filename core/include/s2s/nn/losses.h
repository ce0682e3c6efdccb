#pragma once
// Losses that models share.

#include <ATen/core/Tensor.h>

#include "s2s/nn/vocabulary.h"

namespace s2s {

/// Sum over rows and groups of weight * cross entropy of the logits x W^T + b, without ever
/// holding all logits: rows are taken in chunks, and gradients are made together with the loss.
/// Shapes: x [N, H]; labels [N, K] int64 of the whole vocabularies; row_weights [N, K] float32 or
///         undefined (all 1).  Logits are viewed as [N, K, V].
/// The softmax is in float32 whatever the type of x and weight (or autocast). With a split head
/// every rank of the split gives the same x and labels, gets the whole loss and the whole gradient
/// of x, and that of its own rows.
at::Tensor linear_cross_entropy(const at::Tensor& x_NH, const HeadWeight& head,
                                const at::Tensor& labels_NK, const at::Tensor& row_weights_NK = {});

/// What a validation wants from the same heads, without gradients.
struct CrossEntropyRows {
  at::Tensor loss_NK;       // float32
  at::Tensor predicted_NK;  // int64, the largest logit
};
/// Losses and predictions of x [N, H] and labels [N, K], as linear_cross_entropy computes them.
CrossEntropyRows linear_cross_entropy_rows(const at::Tensor& x_NH, const HeadWeight& head,
                                           const at::Tensor& labels_NK);

}  // namespace s2s

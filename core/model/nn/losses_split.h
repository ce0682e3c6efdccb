#pragma once
// Losses and logits of heads whose vocabularies are split over ranks (s2s/nn/losses.h says what
// they are), and what they share with whole heads.

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>

#include <algorithm>

#include "s2s/nn/losses.h"

namespace s2s {

/// Rows whose logits are held at once: about four million elements.
inline int64_t rows_per_chunk(int64_t num_logits) {
  return std::max<int64_t>(16, (int64_t{1} << 22) / std::max<int64_t>(1, num_logits));
}

/// What products with `weight` are computed in: autocast's type where it is on.
inline at::ScalarType product_type(const at::Tensor& weight) {
  const auto device = weight.device().type();
  return at::autocast::is_autocast_enabled(device) ? at::autocast::get_autocast_dtype(device)
                                                   : weight.scalar_type();
}

/// A gradient that was made with the loss, times the loss's own. In place: nobody else has it, and
/// a second backward pass would be told.
inline at::Tensor scaled_in_place(at::Tensor gradient, const at::Tensor& scale) {
  return gradient.defined() ? gradient.mul_(scale.to(gradient.scalar_type())) : gradient;
}

namespace split {

at::Tensor linear_cross_entropy(const at::Tensor& x_NH, const HeadWeight& head,
                                const at::Tensor& labels_NK, const at::Tensor& row_weights_NK);
CrossEntropyRows linear_cross_entropy_rows(const at::Tensor& x_NH, const HeadWeight& head,
                                           const at::Tensor& labels_NK);
at::Tensor head_logits(const at::Tensor& x, const HeadWeight& head, int64_t num_groups);

}  // namespace split
}  // namespace s2s

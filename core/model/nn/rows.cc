#include "s2s/nn/rows.h"

#include <ATen/ATen.h>

namespace s2s {

at::Tensor length_mask(const at::Tensor& lengths_B, int64_t width) {
  return at::arange(width, lengths_B.options()).unsqueeze(0).lt(lengths_B.unsqueeze(1));
}

at::Tensor fit_columns(const at::Tensor& x_BT, int64_t width, int64_t fill) {
  const int64_t missing = width - x_BT.size(1);
  return missing > 0 ? at::constant_pad_nd(x_BT, {0, missing}, fill) : x_BT.narrow(1, 0, width);
}

at::Tensor zero_beyond(const at::Tensor& x, const at::Tensor& lengths_B, int64_t dim) {
  const at::Tensor is_inside_BT = length_mask(lengths_B, x.size(dim));
  std::vector<int64_t> sizes(static_cast<size_t>(x.dim()), 1);
  sizes[0] = x.size(0);
  sizes[static_cast<size_t>(dim)] = x.size(dim);
  return x.masked_fill(is_inside_BT.logical_not().view(sizes), 0);
}

WholeFrames whole_frames(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                         int64_t samples_per_frame) {
  const int64_t missing =
      (samples_per_frame - audio_BS.size(1) % samples_per_frame) % samples_per_frame;
  const at::Tensor lengths = lengths_B.to(audio_BS.device());
  return {zero_beyond(at::constant_pad_nd(audio_BS, {0, missing}), lengths, 1),
          at::div(lengths + (samples_per_frame - 1), samples_per_frame, "floor")};
}

std::vector<int64_t> to_vector(const at::Tensor& x) {
  const at::Tensor host = x.to(at::kCPU, at::kLong).contiguous();
  return {host.const_data_ptr<int64_t>(), host.const_data_ptr<int64_t>() + host.numel()};
}

StepRows::StepRows(const std::vector<int64_t>& rows, const at::Tensor& kept) {
  if (rows.empty() || kept.size(0) == 1) return;
  rows_B_ = at::tensor(rows, at::kLong).to(kept.device());
}

at::Tensor StepRows::of(const at::Tensor& kept) const {
  return rows_B_.defined() && kept.defined() ? kept.index_select(0, rows_B_) : kept;
}

at::Tensor StepRows::replaced(const at::Tensor& kept, const at::Tensor& values) const {
  return rows_B_.defined() && kept.defined() ? kept.index_copy(0, rows_B_, values) : values;
}

}  // namespace s2s

#include "nn/speech/conformer_masks.h"

#include <ATen/ATen.h>

#include <cmath>

namespace s2s {
namespace {

constexpr double kMasked = -10000;  // NeMo's; the weight is exactly zero after softmax
constexpr double kLongestWave = 10000;

}  // namespace

at::Tensor relative_positions(int64_t first, int64_t last, int64_t width, at::Device device) {
  const auto options = at::TensorOptions().dtype(at::kFloat).device(device);
  const at::Tensor positions = at::arange(first, last - 1, -1, options).unsqueeze(1);
  const at::Tensor rates = at::exp(at::arange(0, width, 2, options) *
                                   -(std::log(kLongestWave) / static_cast<double>(width)));
  const at::Tensor angles = positions * rates;
  return at::stack({angles.sin(), angles.cos()}, -1).view({positions.size(0), width});
}

at::Tensor visible_frames(int64_t num_frames, ConformerOptions::Context context, bool chunked,
                          at::Device device) {
  const auto [left, right] = context;
  const bool whole_left = left < 0 || left >= num_frames;
  if (whole_left && (right < 0 || (!chunked && right >= num_frames))) return {};
  const int64_t chunk = chunked && right >= 0 ? right + 1 : 1;
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  const at::Tensor index = at::floor_divide(at::arange(num_frames, options), chunk);
  const at::Tensor back = index.unsqueeze(1) - index.unsqueeze(0);  // chunks to the left
  at::Tensor visible = at::ones_like(back, options.dtype(at::kBool));
  if (left >= 0) visible.logical_and_(back <= left / chunk);
  if (right >= 0) visible.logical_and_(back >= (chunked ? 0 : -right));
  return visible;
}

at::Tensor score_mask(const at::Tensor& visible_TT, const at::Tensor& padding_BT1,
                      at::ScalarType type) {
  at::Tensor hidden;
  if (visible_TT.defined()) hidden = visible_TT.logical_not().unsqueeze(0);
  if (padding_BT1.defined()) {
    const at::Tensor keys_B1T = padding_BT1.transpose(1, 2);
    hidden = hidden.defined() ? hidden.logical_or(keys_B1T) : keys_B1T;
  }
  if (!hidden.defined()) return {};
  return at::zeros(hidden.sizes(), hidden.options().dtype(type)).masked_fill_(hidden, kMasked);
}

}  // namespace s2s

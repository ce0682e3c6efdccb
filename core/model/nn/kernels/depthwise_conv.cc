#include "nn/kernels/depthwise_conv.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

namespace s2s {

at::Tensor depthwise_conv(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                          std::array<int64_t, 2> stride, std::array<int64_t, 2> padding) {
  const auto maybe_bias = bias.defined() ? std::optional(bias) : std::nullopt;
  constexpr std::array<int64_t, 2> kOne{1, 1};
  if (!x.is_cuda()) {
    return at::conv2d(x, weight, maybe_bias, stride, at::IntArrayRef(padding), kOne, x.size(1));
  }
  // Autocast has no rule for this operator.
  const bool casts = at::autocast::is_autocast_enabled(at::kCUDA);
  const at::ScalarType type =
      casts ? at::autocast::get_autocast_dtype(at::kCUDA) : x.scalar_type();
  return at::_conv_depthwise2d(x.to(type).contiguous(), weight.to(type), weight.sizes().slice(2),
                               bias.defined() ? std::optional(bias.to(type)) : std::nullopt, stride,
                               padding, kOne);
}

}  // namespace s2s

#include "nn/kernels/depthwise_conv.h"

#include <ATen/ATen.h>

namespace s2s {

at::Tensor depthwise_conv(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                          std::array<int64_t, 2> stride, std::array<int64_t, 2> padding) {
  constexpr std::array<int64_t, 2> kOne{1, 1};
  return at::conv2d(x.is_cpu() ? x : x.contiguous(), weight,
                    bias.defined() ? std::optional(bias) : std::nullopt, stride,
                    at::IntArrayRef(padding), kOne, x.size(1));
}

}  // namespace s2s

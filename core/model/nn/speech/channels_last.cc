#include "nn/speech/channels_last.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "nn/kernels/affine.h"

namespace s2s {
namespace {

/// A product reads the weights of a few outputs once, where a convolution brings all of them into
/// another order first.
bool has_few_outputs(int64_t batch, int64_t count, int64_t weights) {
  constexpr int64_t kFew = 16, kFewOfLarge = 160, kLarge = 1 << 19;
  return batch * count <= kFew || (count <= kFewOfLarge && weights >= kLarge);
}

}  // namespace

bool uses_channels_last(const at::Tensor& x_BCT) {
  return x_BCT.is_cpu() && x_BCT.scalar_type() == at::kFloat && !at::GradMode::is_enabled();
}

at::Tensor new_channels_last(const at::Tensor& x, int64_t channels, int64_t positions) {
  return at::empty({x.size(0), positions, channels}, x.options()).transpose(1, 2);
}

at::Tensor joined_positions(const at::Tensor& before_BCT, const at::Tensor& x_BCT) {
  if (!before_BCT.defined() || before_BCT.size(2) == 0) return x_BCT;
  if (!uses_channels_last(x_BCT)) return at::cat({before_BCT, x_BCT}, 2);
  const int64_t first = before_BCT.size(2), second = x_BCT.size(2);
  const at::Tensor joined_BCT = new_channels_last(x_BCT, x_BCT.size(1), first + second);
  joined_BCT.narrow(2, 0, first).copy_(before_BCT);
  joined_BCT.narrow(2, first, second).copy_(x_BCT);
  return joined_BCT;
}

at::Tensor channels_last_conv(const at::Tensor& x_BCT, const at::Tensor& weight_OKC,
                              const at::Tensor& bias_O, int64_t stride, int64_t dilation) {
  const int64_t batch = x_BCT.size(0), channels = x_BCT.size(1), kernel = weight_OKC.size(1);
  const int64_t count = (x_BCT.size(2) - (kernel - 1) * dilation - 1) / stride + 1;
  if (has_few_outputs(batch, count, weight_OKC.numel()) || channels == 1) {
    const at::Tensor x_BTC = x_BCT.transpose(1, 2).contiguous();
    const at::Tensor windows_BTKC =
        x_BTC.as_strided({batch, count, kernel, channels},
                         {x_BTC.size(1) * channels, stride * channels, dilation * channels, 1});
    return affine(windows_BTKC.reshape({batch, count, kernel * channels}), weight_OKC.flatten(1),
                  bias_O)
        .transpose(1, 2);
  }
  const at::Tensor weight_OC1K = weight_OKC.permute({0, 2, 1}).unsqueeze(2);
  const int64_t strides[] = {1, stride}, padding[] = {0, 0}, dilations[] = {1, dilation};
  return at::conv2d(x_BCT.unsqueeze(2), weight_OC1K, bias_O, at::IntArrayRef(strides),
                    at::IntArrayRef(padding), at::IntArrayRef(dilations))
      .squeeze(2);
}

}  // namespace s2s

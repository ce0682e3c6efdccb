#include "conv_layers.h"

#include <ATen/ATen.h>

namespace s2s::rvq_vae {
namespace {

constexpr double kNormEps = 1e-6;
constexpr int64_t kExpansion = 4;

}  // namespace

ChannelNorm::ChannelNorm(int64_t channels) : channels_(channels) {
  register_buffer("weight", weight_);
  register_buffer("bias", bias_);
  ChannelNorm::reset_buffers();
}

ChannelNorm::~ChannelNorm() = default;

void ChannelNorm::reset_buffers() {
  weight_ = at::ones({channels_}, at::kFloat);
  bias_ = at::zeros({channels_}, at::kFloat);
}

at::Tensor ChannelNorm::operator()(const at::Tensor& x_BCT) const {
  const at::Tensor centered = x_BCT - x_BCT.mean(1, /*keepdim=*/true);
  const at::Tensor scale = (centered.square().mean(1, /*keepdim=*/true) + kNormEps).rsqrt();
  return centered * scale * weight_.view({1, -1, 1}) + bias_.view({1, -1, 1});
}

namespace {

ConvSpec pointwise(int64_t inputs, int64_t outputs) {
  return {.inputs = inputs, .outputs = outputs, .name = ""};
}

}  // namespace

ConvNeXt::ConvNeXt(int64_t channels, int64_t kernel_size)
    : dwconv_({.inputs = channels,
               .outputs = channels,
               .kernel = kernel_size,
               .groups = channels,
               .name = ""}),
      norm_(channels),
      pwconv1_(pointwise(channels, kExpansion * channels)),
      pwconv2_(pointwise(kExpansion * channels, channels)) {
  register_block("dwconv", dwconv_);
  register_block("norm", norm_);
  register_block("pwconv1", pwconv1_);
  register_block("pwconv2", pwconv2_);
}

ConvNeXt::~ConvNeXt() = default;

at::Tensor ConvNeXt::push(const at::Tensor& x_BCT, StreamState& state, bool is_last) const {
  const at::Tensor y = norm_(dwconv_.push(x_BCT, state, is_last));
  return x_BCT + pwconv2_.push(at::gelu(pwconv1_.push(y, state, is_last)), state, is_last);
}

}  // namespace s2s::rvq_vae

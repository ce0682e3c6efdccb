#include "conv_layers.h"

#include <ATen/ATen.h>

#include <cmath>

namespace s2s::rvq_vae {
namespace {

constexpr double kNormEps = 1e-6;
constexpr int64_t kExpansion = 4;

}  // namespace

ConvWeights::ConvWeights(std::vector<int64_t> sizes, int64_t fan_in, bool has_bias,
                         int64_t num_outputs)
    : sizes_(std::move(sizes)), fan_in_(fan_in), num_outputs_(num_outputs), has_bias_(has_bias) {
  register_buffer("weight", weight);
  if (has_bias_) register_buffer("bias", bias);
  ConvWeights::reset_buffers();
}

ConvWeights::~ConvWeights() = default;

void ConvWeights::reset_buffers() {
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in_));
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(uint64_t{0});
  weight = at::empty(sizes_, at::kFloat).uniform_(-bound, bound, generator);
  if (has_bias_) bias = at::zeros({num_outputs_}, at::kFloat);
}

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

ConvNeXt::ConvNeXt(int64_t channels, int64_t kernel_size)
    : channels_(channels),
      kernel_size_(kernel_size),
      dwconv_({channels, 1, kernel_size}, kernel_size, true, channels),
      norm_(channels),
      pwconv1_({kExpansion * channels, channels, 1}, channels, true, kExpansion * channels),
      pwconv2_({channels, kExpansion * channels, 1}, kExpansion * channels, true, channels) {
  register_block("dwconv", dwconv_);
  register_block("norm", norm_);
  register_block("pwconv1", pwconv1_);
  register_block("pwconv2", pwconv2_);
}

ConvNeXt::~ConvNeXt() = default;

at::Tensor ConvNeXt::operator()(const at::Tensor& x_BCT, at::Tensor& past) const {
  if (!past.defined()) past = x_BCT.new_zeros({x_BCT.size(0), channels_, kernel_size_ - 1});
  const at::Tensor seen = at::cat({past, x_BCT}, 2);
  past = seen.slice(2, seen.size(2) - (kernel_size_ - 1)).clone();
  at::Tensor y =
      at::conv1d(seen, dwconv_.weight, dwconv_.bias, 1, at::IntArrayRef(kNoPadding), 1, channels_);
  y = norm_(y);
  y = at::gelu(at::conv1d(y, pwconv1_.weight, pwconv1_.bias));
  return x_BCT + at::conv1d(y, pwconv2_.weight, pwconv2_.bias);
}

}  // namespace s2s::rvq_vae

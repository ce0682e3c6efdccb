#include "hifi_gan.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "s2s/nn/rows.h"

namespace s2s::nemo_audio_codec {
namespace {

constexpr double kLeakySlope = 0.01;
constexpr WeightForm kNormed = {.trains = false, .is_normed = true};

EdgePadding edge_padding(const HifiGanOptions& options) {
  if (options.causal || options.pad_mode == "zeros") return EdgePadding::kZeros;
  return options.pad_mode == "reflect" ? EdgePadding::kReflect : EdgePadding::kReplicate;
}

/// Positions that a symmetric convolution adds at each end.
int64_t side_of(int64_t kernel, int64_t stride, int64_t dilation) {
  return stride > 1 ? (kernel - stride + 1) / 2 : (kernel - 1) * dilation / 2;
}

ConvSpec conv_spec(const HifiGanOptions& options, int64_t inputs, int64_t outputs, int64_t kernel,
                   int64_t stride = 1, int64_t dilation = 1) {
  const int64_t side = side_of(kernel, stride, dilation);
  return {.inputs = inputs,
          .outputs = outputs,
          .kernel = kernel,
          .stride = stride,
          .dilation = dilation,
          .padding = edge_padding(options),
          .left = options.causal ? -1 : side,
          .right = options.causal ? 0 : side,
          .form = kNormed};
}

ConvTransposeSpec up_spec(const DecoderOptions& options, int64_t inputs, int64_t rate) {
  const int64_t outputs = inputs / 2, side = side_of(2 * rate, rate, 1);
  return {.inputs = inputs,
          .outputs = outputs,
          .kernel = 2 * rate,
          .stride = rate,
          .groups = options.n_groups_equal_to_out_channels ? outputs : 1,
          .left = options.causal ? 0 : side,
          .right = options.causal ? -1 : rate - side,
          .form = kNormed};
}

std::string numbered(const char* list, size_t i) { return list + ("." + std::to_string(i)); }

at::Tensor run_layer(const AudioLayer& layer, const at::Tensor& x_BCT, const Pass& pass) {
  const at::Tensor y_BCT = layer.push(x_BCT, pass.state, /*is_last=*/true);
  return pass.lengths_B.defined() ? zero_beyond(y_BCT, pass.lengths_B, 2) : y_BCT;
}

}  // namespace

Pass Pass::divided_by(int64_t rate) const {
  return {state, lengths_B.defined() ? at::div(lengths_B, rate, "floor") : lengths_B};
}

Pass Pass::times(int64_t rate) const {
  return {state, lengths_B.defined() ? lengths_B * rate : lengths_B};
}

CodecActivation::CodecActivation(std::string name, int64_t channels) : name_(std::move(name)) {
  if (name_ != "snake" && name_ != "half_snake") return;
  const bool is_half = name_ == "half_snake";
  snake_channels_ = is_half ? channels / 2 : channels;
  snake_ = std::make_unique<Snake>(snake_channels_);
  register_block(is_half ? "activation.snake_act" : "activation", *snake_);
}

CodecActivation::~CodecActivation() = default;

at::Tensor CodecActivation::operator()(const at::Tensor& x_BCT) const {
  if (name_ == "elu") return at::elu(x_BCT);
  if (name_ == "lrelu") return at::leaky_relu(x_BCT, kLeakySlope);
  if (name_ == "snake") return (*snake_)(x_BCT);
  const int64_t rest = x_BCT.size(1) - snake_channels_;
  return at::cat({(*snake_)(x_BCT.narrow(1, 0, snake_channels_)),
                  at::leaky_relu(x_BCT.narrow(1, snake_channels_, rest), kLeakySlope)},
                 1);
}

ResidualBlock::ResidualBlock(const HifiGanOptions& options, int64_t channels, int64_t kernel,
                             int64_t dilation)
    : input_activation_(options.activation, channels),
      skip_activation_(options.activation, channels),
      input_conv_(conv_spec(options, channels, channels, kernel, 1, dilation)),
      skip_conv_(conv_spec(options, channels, channels, kernel)) {
  register_block("input_activation", input_activation_);
  register_block("skip_activation", skip_activation_);
  register_block("input_conv", input_conv_);
  register_block("skip_conv", skip_conv_);
}

ResidualBlock::~ResidualBlock() = default;

at::Tensor ResidualBlock::operator()(const at::Tensor& x_BCT, const Pass& pass) const {
  const at::Tensor inner_BCT = run_layer(input_conv_, input_activation_(x_BCT), pass);
  return x_BCT + run_layer(skip_conv_, skip_activation_(inner_BCT), pass);
}

ResidualLayer::ResidualLayer(const HifiGanOptions& options, int64_t channels) {
  for (const int64_t kernel : options.resblock_kernel_sizes) {
    auto& chain = chains_.emplace_back();
    for (const int64_t dilation : options.resblock_dilation_sizes) {
      chain.push_back(std::make_unique<ResidualBlock>(options, channels, kernel, dilation));
      register_block(numbered("res_blocks", chains_.size() - 1) + "." +
                         numbered("res_blocks", chain.size() - 1),
                     *chain.back());
    }
  }
}

ResidualLayer::~ResidualLayer() = default;

at::Tensor ResidualLayer::operator()(const at::Tensor& x_BCT, const Pass& pass) const {
  at::Tensor sum_BCT;
  for (const auto& chain : chains_) {
    at::Tensor y_BCT = x_BCT;
    for (const auto& block : chain) y_BCT = (*block)(y_BCT, pass);
    sum_BCT = sum_BCT.defined() ? sum_BCT + y_BCT : y_BCT;
  }
  return sum_BCT / static_cast<double>(chains_.size());
}

HifiGanEncoder::HifiGanEncoder(const EncoderOptions& options)
    : pre_conv_(conv_spec(options, 1, options.base_channels, options.in_kernel_size)) {
  register_block("pre_conv", pre_conv_);
  int64_t channels = options.base_channels;
  for (const int64_t rate : options.rates) {
    stages_.push_back(
        {std::make_unique<ResidualLayer>(options, channels),
         std::make_unique<CodecActivation>(options.activation, channels),
         std::make_unique<StreamConv1d>(conv_spec(options, channels, 2 * channels, 2 * rate, rate)),
         rate});
    channels *= 2;
    const size_t i = stages_.size() - 1;
    register_block(numbered("activations", i), *stages_[i].activation);
    register_block(numbered("down_sample_conv_layers", i), *stages_[i].down);
    register_block(numbered("res_layers", i), *stages_[i].residual);
  }
  post_activation_ = std::make_unique<CodecActivation>(options.activation, channels);
  post_conv_ = std::make_unique<StreamConv1d>(
      conv_spec(options, channels, options.encoded_dim, options.out_kernel_size));
  register_block("post_activation", *post_activation_);
  register_block("post_conv", *post_conv_);
}

HifiGanEncoder::~HifiGanEncoder() = default;

at::Tensor HifiGanEncoder::operator()(const at::Tensor& audio_B1S, const Pass& samples) const {
  at::Tensor x_BCT = run_layer(pre_conv_, audio_B1S, samples);
  int64_t rate = 1;
  for (const Stage& stage : stages_) {
    x_BCT = (*stage.activation)((*stage.residual)(x_BCT, samples.divided_by(rate)));
    rate *= stage.rate;
    x_BCT = run_layer(*stage.down, x_BCT, samples.divided_by(rate));
  }
  return run_layer(*post_conv_, (*post_activation_)(x_BCT), samples.divided_by(rate));
}

HifiGanDecoder::HifiGanDecoder(const DecoderOptions& options)
    : is_clamped_(options.output_activation == "clamp"),
      pre_conv_(
          conv_spec(options, options.input_dim, options.base_channels, options.in_kernel_size)) {
  register_block("pre_conv", pre_conv_);
  int64_t channels = options.base_channels;
  for (const int64_t rate : options.rates) {
    stages_.push_back({std::make_unique<CodecActivation>(options.activation, channels),
                       std::make_unique<StreamConvTranspose1d>(up_spec(options, channels, rate)),
                       std::make_unique<ResidualLayer>(options, channels / 2), rate});
    channels /= 2;
    const size_t i = stages_.size() - 1;
    register_block(numbered("activations", i), *stages_[i].activation);
    register_block(numbered("up_sample_conv_layers", i), *stages_[i].up);
    register_block(numbered("res_layers", i), *stages_[i].residual);
  }
  post_activation_ = std::make_unique<CodecActivation>(options.activation, channels);
  post_conv_ =
      std::make_unique<StreamConv1d>(conv_spec(options, channels, 1, options.out_kernel_size));
  register_block("post_activation", *post_activation_);
  register_block("post_conv", *post_conv_);
}

HifiGanDecoder::~HifiGanDecoder() = default;

at::Tensor HifiGanDecoder::operator()(const at::Tensor& latents_BDT, const Pass& frames) const {
  at::Tensor x_BCT = run_layer(pre_conv_, latents_BDT, frames);
  int64_t rate = 1;
  for (const Stage& stage : stages_) {
    rate *= stage.rate;
    const Pass pass = frames.times(rate);
    x_BCT = run_layer(*stage.up, (*stage.activation)(x_BCT), pass);
    x_BCT = (*stage.residual)(x_BCT, pass);
  }
  const at::Tensor audio_B1S =
      run_layer(*post_conv_, (*post_activation_)(x_BCT), frames.times(rate));
  return is_clamped_ ? audio_B1S.clamp(-1, 1) : audio_B1S.tanh();
}

int64_t least_frames(const HifiGanOptions& options, const std::vector<int64_t>& rates,
                     int64_t audio_kernel, int64_t latent_kernel) {
  if (edge_padding(options) != EdgePadding::kReflect) return 1;
  int64_t least = 1, positions = options.rate();  // of a frame
  const auto need = [&](int64_t side) { least = std::max(least, side / positions + 1); };
  need(side_of(audio_kernel, 1, 1));
  for (const int64_t rate : rates) {
    for (const int64_t kernel : options.resblock_kernel_sizes) {
      for (const int64_t dilation : options.resblock_dilation_sizes) {
        need(side_of(kernel, 1, dilation));
      }
    }
    need(side_of(2 * rate, rate, 1));
    positions /= rate;
  }
  need(side_of(latent_kernel, 1, 1));
  return least;
}

}  // namespace s2s::nemo_audio_codec

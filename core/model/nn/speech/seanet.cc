#include "s2s/nn/seanet.h"

#include <ATen/ATen.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "s2s/error.h"

namespace s2s {
namespace {

/// A layer, GroupNorm over all that it gives, and a cut. Names: those of the layer, and "norm".
class GroupNormed : public AudioLayer {
 public:
  GroupNormed(std::unique_ptr<AudioLayer> layer, int64_t channels, int64_t left = 0,
              int64_t right = 0)
      : layer_(std::move(layer)),
        norm_({channels}, 0, channels, {}, "weight"),
        left_(left),
        right_(right) {
    register_block("", *layer_);
    register_block("norm", norm_);
  }

  at::Tensor push(const at::Tensor& x_BCT, StreamState& state, bool is_last) const override {
    S2S_ASSERT(is_last && state.count(*this)++ == 0, "a GroupNorm sees the whole piece");
    const at::Tensor y_BCT =
        at::group_norm(layer_->push(x_BCT, state, is_last), 1, norm_.value(), norm_.bias);
    return y_BCT.narrow(2, left_, y_BCT.size(2) - left_ - right_);
  }

 private:
  std::unique_ptr<AudioLayer> layer_;
  StoredWeight norm_;
  int64_t left_, right_;
};

/// Makes the layers of one SEANet.
class Layers {
 public:
  explicit Layers(const SeanetSpec& spec) : spec_(spec) {}

  std::unique_ptr<AudioLayer> conv(ConvSpec conv) const {
    const int64_t total = (conv.kernel - 1) * conv.dilation + 1 - conv.stride;
    conv.right = spec_.use_causal_conv ? 0 : total / 2;
    conv.left = total - conv.right;
    conv.padding = spec_.padding;
    conv.form = form();
    auto layer = std::make_unique<StreamConv1d>(conv);
    if (spec_.norm != SeanetNorm::kGroup) return layer;
    return std::make_unique<GroupNormed>(std::move(layer), conv.outputs);
  }

  std::unique_ptr<AudioLayer> transposed(int64_t inputs, int64_t outputs, int64_t stride) const {
    const double right_share = spec_.use_causal_conv ? spec_.trim_right_ratio : 0.5;
    const double right = static_cast<double>(stride) * right_share;
    ConvTransposeSpec conv{.inputs = inputs,
                           .outputs = outputs,
                           .kernel = 2 * stride,
                           .stride = stride,
                           .form = form()};
    conv.right = static_cast<int64_t>(spec_.use_causal_conv ? std::ceil(right) : std::floor(right));
    conv.left = stride - conv.right;
    if (spec_.norm != SeanetNorm::kGroup) return std::make_unique<StreamConvTranspose1d>(conv);
    const int64_t left = std::exchange(conv.left, 0), cut = std::exchange(conv.right, 0);
    return std::make_unique<GroupNormed>(std::make_unique<StreamConvTranspose1d>(conv), outputs,
                                         left, cut);
  }

  void add_residuals(AudioStack& stack, int64_t channels) const {
    int64_t dilation = 1;
    for (int64_t j = 0; j < spec_.num_residual_layers; ++j) {
      const int64_t inner = channels / spec_.compress;
      auto unit = std::make_unique<ResidualUnit>(
          "block.",
          spec_.use_conv_shortcut ? conv({.inputs = channels, .outputs = channels}) : nullptr);
      unit->add(std::make_unique<Elu>())
          .add(conv({.inputs = channels,
                     .outputs = inner,
                     .kernel = spec_.residual_kernel_size,
                     .dilation = dilation}))
          .add(std::make_unique<Elu>())
          .add(conv({.inputs = inner, .outputs = channels}));
      stack.add(std::move(unit));
      dilation *= spec_.dilation_growth_rate;
    }
  }

  void add_lstm(AudioStack& stack, int64_t channels) const {
    if (spec_.num_lstm_layers == 0) return;
    stack.add(std::make_unique<StreamLstm>(channels, spec_.num_lstm_layers,
                                           WeightForm{.trains = spec_.trains}, "lstm."));
  }

 private:
  WeightForm form() const {
    return {.trains = spec_.trains, .is_normed = spec_.norm == SeanetNorm::kWeight};
  }

  const SeanetSpec& spec_;
};

}  // namespace

EdgePadding edge_padding(const std::string& pad_mode) {
  if (pad_mode == "reflect") return EdgePadding::kReflect;
  return pad_mode == "replicate" ? EdgePadding::kReplicate : EdgePadding::kZeros;
}

int64_t seanet_hop(const std::vector<int64_t>& ratios) {
  return std::accumulate(ratios.begin(), ratios.end(), int64_t{1}, std::multiplies<>());
}

void add_seanet_encoder(AudioStack& stack, const SeanetSpec& spec) {
  const Layers layers(spec);
  int64_t channels = spec.num_filters;
  stack.add(layers.conv(
      {.inputs = spec.audio_channels, .outputs = channels, .kernel = spec.kernel_size}));
  for (size_t i = spec.upsampling_ratios.size(); i-- > 0; channels *= 2) {
    const int64_t ratio = spec.upsampling_ratios[i];
    layers.add_residuals(stack, channels);
    stack.add(std::make_unique<Elu>());
    stack.add(layers.conv(
        {.inputs = channels, .outputs = 2 * channels, .kernel = 2 * ratio, .stride = ratio}));
  }
  layers.add_lstm(stack, channels);
  stack.add(std::make_unique<Elu>());
  stack.add(layers.conv(
      {.inputs = channels, .outputs = spec.hidden_size, .kernel = spec.last_kernel_size}));
}

void add_seanet_decoder(AudioStack& stack, const SeanetSpec& spec) {
  const Layers layers(spec);
  int64_t channels = spec.num_filters << spec.upsampling_ratios.size();
  stack.add(
      layers.conv({.inputs = spec.hidden_size, .outputs = channels, .kernel = spec.kernel_size}));
  layers.add_lstm(stack, channels);
  for (const int64_t ratio : spec.upsampling_ratios) {
    stack.add(std::make_unique<Elu>());
    stack.add(layers.transposed(channels, channels / 2, ratio));
    channels /= 2;
    layers.add_residuals(stack, channels);
  }
  stack.add(std::make_unique<Elu>());
  stack.add(layers.conv(
      {.inputs = channels, .outputs = spec.audio_channels, .kernel = spec.last_kernel_size}));
}

}  // namespace s2s

#include "discriminators.h"

#include <ATen/ATen.h>

#include "s2s/nn/mel.h"
#include "spectral_losses.h"

namespace s2s::codec {
namespace {

constexpr double kSlope = 0.1;          // of leaky ReLUs
constexpr double kFeatureGuard = 1e-3;  // as NeMo's RelativeFeatureMatchingLoss

std::vector<MirrorConv2d::Spec> period_layers(const std::vector<int64_t>& channels) {
  std::vector<MirrorConv2d::Spec> specs;
  int64_t inputs = 1;
  for (size_t i = 0; i < channels.size(); ++i) {
    const int64_t stride = i + 1 < channels.size() ? 3 : 1;
    specs.push_back({inputs, channels[i], {5, 1}, {stride, 1}});
    inputs = channels[i];
  }
  specs.push_back({inputs, 1, {3, 1}});
  return specs;
}

std::vector<MirrorConv2d::Spec> band_layers(int64_t channels) {
  return {{2, channels, {3, 9}},
          {channels, channels, {3, 9}, {1, 2}},
          {channels, channels, {3, 9}, {1, 2}},
          {channels, channels, {3, 9}, {1, 2}},
          {channels, channels, {3, 3}},
          {channels, 1, {3, 3}}};
}

at::Tensor row_means(const at::Tensor& x) { return x.flatten(1).mean(1); }

template <class Term>
at::Tensor mean_of_terms(size_t count, const Term& term) {
  at::Tensor sum_B = term(0);
  for (size_t i = 1; i < count; ++i) sum_B = sum_B + term(i);
  return sum_B / static_cast<double>(count);
}

/// The distance of scores to what they should be, 1 or not; both losses of the field.
at::Tensor distance(const at::Tensor& score, bool to_real, bool is_hinge) {
  if (is_hinge) return row_means((to_real ? 1 - score : 1 + score).relu());
  return row_means(to_real ? (1 - score).square() : score.square());
}

}  // namespace

MirrorConv2d::MirrorConv2d(const Spec& spec)
    : spec_(spec),
      weight_({spec.outputs, spec.inputs, spec.kernel[0], spec.kernel[1]},
              spec.inputs * spec.kernel[0] * spec.kernel[1], spec.outputs,
              {.trains = true, .is_normed = true}) {
  register_block("conv", weight_);
}

MirrorConv2d::~MirrorConv2d() = default;

at::Tensor MirrorConv2d::operator()(const at::Tensor& x, bool frozen) const {
  const int64_t high = (spec_.kernel[0] - 1) / 2, wide = (spec_.kernel[1] - 1) / 2;
  at::Tensor value = weight_.value().to(x.scalar_type()), bias = weight_.bias.to(x.scalar_type());
  if (frozen) {
    value = value.detach();
    bias = bias.detach();
  }
  return at::conv2d(at::reflection_pad2d(x, {wide, wide, high, high}), value, bias, spec_.stride);
}

ConvJudge::ConvJudge(const std::vector<MirrorConv2d::Spec>& specs) {
  for (size_t i = 0; i < specs.size(); ++i) {
    layers_.push_back(std::make_unique<MirrorConv2d>(specs[i]));
    register_block(i + 1 < specs.size() ? "conv_layers." + std::to_string(i) : "conv_post",
                   *layers_.back());
  }
}

ConvJudge::~ConvJudge() = default;

void ConvJudge::judge(const at::Tensor& x, bool frozen, Judgement& out) const {
  at::Tensor y = x;
  std::vector<at::Tensor> features;
  for (const auto& layer : layers_) {
    y = (*layer)(y, frozen);
    if (layer != layers_.back()) y = at::leaky_relu(y, kSlope);
    features.push_back(y);
  }
  out.scores.push_back(y);
  out.features.push_back(std::move(features));
}

Discriminators::Discriminators(const DiscriminatorOptions& options)
    : options_(options), windows_(options.window_lengths.size()) {
  // NeMo's Discriminator is a list of kinds, each of which is a list.
  const std::string list = "discriminators.";
  const std::string periods = list + "0." + list;
  for (size_t i = 0; i < options.periods.size(); ++i) {
    of_periods_.push_back(std::make_unique<ConvJudge>(period_layers(options.period_channels)));
    register_block(periods + std::to_string(i), *of_periods_.back());
  }
  const std::string windows = list + (options.periods.empty() ? "0." : "1.") + list;
  for (size_t i = 0; i < windows_.size(); ++i) {
    for (size_t band = 0; band + 1 < options.stft_bands.size(); ++band) {
      of_bands_.push_back(std::make_unique<ConvJudge>(band_layers(options.stft_channels)));
      register_block(windows + std::to_string(i) + "." + list + std::to_string(band),
                     *of_bands_.back());
    }
    register_buffer("windows." + std::to_string(i), windows_[i], /*persistent=*/false);
  }
  Discriminators::reset_buffers();
}

Discriminators::~Discriminators() = default;

void Discriminators::reset_buffers() {
  for (size_t i = 0; i < windows_.size(); ++i) {
    windows_[i] = stft_window("hann", options_.window_lengths[i], /*periodic=*/false);
  }
}

void Discriminators::judge_period(int64_t period, const ConvJudge& judge,
                                  const at::Tensor& audio_BS, bool frozen, Judgement& out) const {
  const int64_t rows = audio_BS.size(0), samples = audio_BS.size(1);
  at::Tensor x_B1S = audio_BS.unsqueeze(1);
  const int64_t missing = (period - samples % period) % period;
  if (missing > 0) x_B1S = at::reflection_pad1d(x_B1S, {0, missing});
  judge.judge(x_B1S.reshape({rows, 1, -1, period}), frozen, out);
}

Judgement Discriminators::operator()(const at::Tensor& audio_BS, bool frozen) const {
  Judgement out;
  for (size_t i = 0; i < of_periods_.size(); ++i) {
    judge_period(options_.periods[i], *of_periods_[i], audio_BS, frozen, out);
  }
  const size_t bands = options_.stft_bands.size() - 1;
  for (size_t i = 0; i < of_bands_.size(); ++i) {
    const at::Tensor& window = windows_[i / bands];
    const at::Tensor spectrum_BTN =
        spectrum(audio_BS, window, /*mirrors=*/true, /*normalized=*/true).transpose(1, 2);
    const at::Tensor x_B2TN = at::view_as_real(spectrum_BTN).permute({0, 3, 1, 2});
    const auto bins = static_cast<double>(x_B2TN.size(3));
    const auto begin = static_cast<int64_t>(options_.stft_bands[i % bands] * bins);
    const auto end = static_cast<int64_t>(options_.stft_bands[i % bands + 1] * bins);
    of_bands_[i]->judge(x_B2TN.narrow(3, begin, end - begin), frozen, out);
  }
  return out;
}

at::Tensor codec_loss(const Judgement& decoded, const DiscriminatorOptions& options) {
  const bool is_hinge = options.loss_type == "hinge";
  return mean_of_terms(decoded.scores.size(), [&](size_t i) {
    return distance(decoded.scores[i], /*to_real=*/true, is_hinge);
  });
}

at::Tensor feature_loss(const Judgement& real, const Judgement& decoded,
                        const DiscriminatorOptions& options) {
  const bool is_relative = options.feature_loss_type == "relative";
  return mean_of_terms(real.features.size(), [&](size_t i) {
    return mean_of_terms(real.features[i].size(), [&](size_t layer) {
      const at::Tensor theirs = real.features[i][layer].detach();
      const at::Tensor off = (theirs - decoded.features[i][layer]).abs();
      if (!is_relative) return row_means(off);
      return row_means(off.mean(-1) / (theirs.abs().mean(-1) + kFeatureGuard));
    });
  });
}

at::Tensor discriminator_loss(const Judgement& real, const Judgement& decoded,
                              const DiscriminatorOptions& options) {
  const bool is_hinge = options.loss_type == "hinge";
  return mean_of_terms(real.scores.size(), [&](size_t i) {
    return (distance(real.scores[i], /*to_real=*/true, is_hinge) +
            distance(decoded.scores[i], /*to_real=*/false, is_hinge)) /
           2;
  });
}

}  // namespace s2s::codec

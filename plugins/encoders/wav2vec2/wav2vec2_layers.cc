#include "wav2vec2_layers.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace s2s::wav2vec2 {
namespace {

/// Runs `work` for as many rows [begin, begin + count) at once as have `most` positions of `width`,
/// one at least, and joins what it returns. most 0: all rows.
template <class Work>
at::Tensor some_rows_at_once(int64_t num_rows, int64_t width, int64_t most, const Work& work) {
  const int64_t step = std::max<int64_t>(1, most / std::max<int64_t>(1, width));
  if (most == 0 || step >= num_rows) return work(0, num_rows);
  std::vector<at::Tensor> parts;
  for (int64_t begin = 0; begin < num_rows; begin += step) {
    parts.push_back(work(begin, std::min(step, num_rows - begin)));
  }
  return at::cat(parts);
}

/// A norm of each channel over its positions. Convolutions of a processor give [B, T, C] side by
/// side; at::group_norm would bring it into another order.
at::Tensor normed_over_time(const at::Tensor& x_BTC, const LayerNorm& norm) {
  if (!x_BTC.is_cpu() || at::GradMode::is_enabled()) {
    return at::group_norm(x_BTC.transpose(1, 2), x_BTC.size(2), norm.weight, norm.bias)
        .transpose(1, 2);
  }
  constexpr double kEpsilon = 1e-5;  // of at::group_norm
  const auto [variance_B1C, mean_B1C] =
      at::var_mean(x_BTC, at::IntArrayRef({1}), /*correction=*/0, /*keepdim=*/true);
  const at::Tensor scale_B1C = (variance_B1C + kEpsilon).rsqrt() * norm.weight;
  return at::addcmul(norm.bias - mean_B1C * scale_B1C, x_BTC, scale_B1C);
}

}  // namespace

struct FeatureEncoder::Layer : Block {
  Layer(const Wav2Vec2Options& options, size_t index)
      : conv({.inputs = index == 0 ? 1 : options.conv_dim[index - 1],
              .outputs = options.conv_dim[index],
              .kernel = options.conv_kernel[index],
              .stride = options.conv_stride[index],
              .has_bias = options.conv_bias,
              .left = 0,
              .form = {.trains = true},
              .name = ""}) {
    register_block("conv", conv);
    if (index > 0 && options.feat_extract_norm == "group") return;
    norm = std::make_unique<LayerNorm>(options.conv_dim[index]);
    register_block("layer_norm", *norm);
  }
  ~Layer() override = default;

  StreamConv1d conv;
  std::unique_ptr<LayerNorm> norm;  // null without one
};

FeatureEncoder::FeatureEncoder(const Wav2Vec2Options& options)
    : activation_(activation_named(options.feat_extract_activation).value_or(Activation::kGelu)),
      is_group_norm_(options.feat_extract_norm == "group"),
      piece_samples_(options.piece_frames() == 0 ? 0 : options.samples(options.piece_frames())) {
  for (size_t i = 0; i < options.conv_dim.size(); ++i) {
    layers_.push_back(std::make_unique<Layer>(options, i));
    register_block("conv_layers." + std::to_string(i), *layers_.back());
  }
}

FeatureEncoder::~FeatureEncoder() = default;

at::Tensor FeatureEncoder::forward(const at::Tensor& audio_BS) {
  return some_rows_at_once(
      audio_BS.size(0), audio_BS.size(1), piece_samples_,
      [&](int64_t begin, int64_t count) { return frames_of(audio_BS.narrow(0, begin, count)); });
}

at::Tensor FeatureEncoder::frames_of(const at::Tensor& audio_BS) {
  at::Tensor x_BCT = audio_BS.unsqueeze(1);
  for (const auto& layer : layers_) {
    at::Tensor x_BTC = layer->conv(x_BCT).transpose(1, 2);
    if (layer->norm) {
      x_BTC = is_group_norm_ ? normed_over_time(x_BTC, *layer->norm) : (*layer->norm)(x_BTC);
    }
    x_BCT = apply_activation(x_BTC, activation_).transpose(1, 2);
  }
  return x_BCT.transpose(1, 2);
}

PositionalConv::PositionalConv(const Wav2Vec2Options& options)
    : kernel_(options.num_conv_pos_embeddings),
      groups_(options.num_conv_pos_embedding_groups),
      activation_(activation_named(options.feat_extract_activation).value_or(Activation::kGelu)) {
  const int64_t width = options.hidden_size;
  const double scale = 2 / std::sqrt(static_cast<double>(kernel_ * width));
  register_parameter("weight_g", length_, {1, 1, kernel_}, {Init::Kind::kOnes});
  register_parameter("weight_v", direction_, {width, width / groups_, kernel_},
                     {Init::Kind::kNormal, scale});
  register_parameter("bias", bias_, {width}, {Init::Kind::kZeros});
}

PositionalConv::~PositionalConv() = default;

at::Tensor PositionalConv::forward(const at::Tensor& x_BTH) {
  const at::Tensor norm = direction_.square().sum(at::IntArrayRef({0, 1}), /*keepdim=*/true).sqrt();
  const at::Tensor weight = direction_ * (length_ / norm);
  const at::Tensor y_BHT =
      at::conv1d(x_BTH.transpose(1, 2), weight, bias_, 1, kernel_ / 2, 1, groups_);
  return apply_activation(y_BHT.narrow(2, 0, x_BTH.size(1)), activation_).transpose(1, 2);
}

at::Tensor position_buckets(int64_t num_frames, int64_t num_buckets, int64_t max_distance,
                            at::Device device) {
  const int64_t half = num_buckets / 2, exact = half / 2;
  const at::Tensor frames = at::arange(num_frames, at::TensorOptions(at::kLong).device(device));
  const at::Tensor relative = frames.unsqueeze(0) - frames.unsqueeze(1);
  const at::Tensor distance = relative.abs();
  const double reach = std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
  const at::Tensor logs = at::log(distance.to(at::kFloat) / static_cast<double>(exact)) / reach *
                          static_cast<double>(half - exact);
  const at::Tensor far = (logs + static_cast<double>(exact)).to(at::kLong).clamp_max(half - 1);
  return relative.gt(0).to(at::kLong) * half + at::where(distance < exact, distance, far);
}

/// Multi-head attention with the gate; the names of all are beside each other.
class GatedLayer::Attention : public Block {
 public:
  explicit Attention(const MultiHeadAttentionSpec& spec)
      : head_dim_(spec.width / spec.num_heads), attention_(spec), gate_(head_dim_, kParts * 4) {
    register_block("", attention_);
    register_block("gru_rel_pos_linear", gate_);
    register_parameter("gru_rel_pos_const", constant_, {1, spec.num_heads, 1, 1},
                       {Init::Kind::kOnes});
  }
  ~Attention() override = default;

  at::Tensor operator()(const at::Tensor& x_BTH, const at::Tensor& bias_NTT,
                        const at::Tensor& seen_B11T) {
    const at::Tensor parts =
        gate_(to_heads(x_BTH, head_dim_)).unflatten(-1, {kParts, 4}).sum(at::IntArrayRef({-1}));
    const std::vector<at::Tensor> ab = at::sigmoid(parts).chunk(kParts, -1);
    const at::Tensor gate_BNT1 = ab[0] * (ab[1] * constant_ - 1.0) + 2.0;
    at::Tensor scores = gate_BNT1 * bias_NTT.to(x_BTH.scalar_type());
    if (seen_B11T.defined()) {
      scores =
          scores.masked_fill(seen_B11T.logical_not(), -std::numeric_limits<double>::infinity());
    }
    return attention_(x_BTH, x_BTH, scores);
  }

 private:
  static constexpr int64_t kParts = 2;
  int64_t head_dim_;
  MultiHeadAttention attention_;
  Linear gate_;
  at::Tensor constant_;
};

GatedLayer::GatedLayer(const EncoderLayerSpec& spec, int64_t piece_frames)
    : spec_(spec),
      piece_frames_(piece_frames),
      attention_(std::make_unique<Attention>(spec.attention)),
      attention_norm_(spec.attention.width, spec.norm_epsilon),
      inner_(spec.attention.width, spec.inner_width),
      outer_(spec.inner_width, spec.attention.width),
      final_norm_(spec.attention.width, spec.norm_epsilon) {
  register_block(spec.attention_name, *attention_);
  register_block(spec.attention_norm, attention_norm_);
  register_block(spec.inner, inner_);
  register_block(spec.outer, outer_);
  register_block(spec.final_norm, final_norm_);
}

GatedLayer::~GatedLayer() = default;

at::Tensor GatedLayer::feed_forward(const at::Tensor& x_BTH) {
  const at::Tensor inner = apply_activation(inner_(x_BTH), spec_.activation);
  return at::dropout(outer_(at::dropout(inner, spec_.inner_dropout, is_training())), spec_.dropout,
                     is_training());
}

at::Tensor GatedLayer::forward(const at::Tensor& x_BTH, const at::Tensor& bias_NTT,
                               const at::Tensor& seen_B11T) {
  const int64_t most = at::GradMode::is_enabled() ? 0 : piece_frames_;
  return some_rows_at_once(x_BTH.size(0), x_BTH.size(1), most, [&](int64_t begin, int64_t count) {
    return layer(x_BTH.narrow(0, begin, count), bias_NTT,
                 seen_B11T.defined() ? seen_B11T.narrow(0, begin, count) : seen_B11T);
  });
}

at::Tensor GatedLayer::layer(const at::Tensor& x_BTH, const at::Tensor& bias_NTT,
                             const at::Tensor& seen_B11T) {
  const auto attend = [&](const at::Tensor& x) {
    return at::dropout((*attention_)(x, bias_NTT, seen_B11T), spec_.dropout, is_training());
  };
  if (spec_.norm_first) {
    const at::Tensor y = x_BTH + attend(attention_norm_(x_BTH));
    return y + feed_forward(final_norm_(y));
  }
  const at::Tensor y = attention_norm_(x_BTH + attend(x_BTH));
  return final_norm_(y + feed_forward(y));
}

}  // namespace s2s::wav2vec2

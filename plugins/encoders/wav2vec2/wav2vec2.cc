#include "wav2vec2.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "pieces.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/weights.h"

namespace s2s::wav2vec2 {
namespace {

constexpr double kVarianceFloor = 1e-7;

/// Attention is whole on each rank, because a gate sees the part of the frame that is its head's.
void add_gated_layers(const EncoderLayerSpec& spec, const std::string& layer, const MeshShape& mesh,
                      ShardPlan& plan) {
  plan.units.push_back({layer});
  if (spec.inner_width % mesh.tensor != 0) {
    plan.rows.push_back({layer});
    return;
  }
  for (const std::string& whole : {spec.attention_name, spec.attention_norm, spec.final_norm}) {
    plan.rows.push_back({layer + "." + whole});
  }
  plan.rows.push_back({layer + "." + spec.inner, Style::kColwise, Layout::kFull, Layout::kLast});
  plan.rows.push_back({layer + "." + spec.outer, Style::kRowwise, Layout::kLast, Layout::kFull});
}

/// Each row to mean 0 and variance 1 over its valid samples. Rows are zero beyond their lengths.
at::Tensor standardized(const at::Tensor& audio_BS, const at::Tensor& lengths_B) {
  const at::Tensor count_B1 = lengths_B.clamp_min(1).unsqueeze(1).to(at::kFloat);
  const at::Tensor centered_BS = zero_beyond(
      audio_BS - audio_BS.sum(at::IntArrayRef({1}), /*keepdim=*/true) / count_B1, lengths_B, 1);
  const at::Tensor variance_B1 =
      centered_BS.square().sum(at::IntArrayRef({1}), /*keepdim=*/true) / count_B1;
  return centered_BS / (variance_B1 + kVarianceFloor).sqrt();
}

}  // namespace

Wav2Vec2::Wav2Vec2(const Wav2Vec2Options& options, const std::string& place,
                   std::string weights_path)
    : options_(options),
      place_(place),
      weights_path_(std::move(weights_path)),
      outputs_(options.num_hidden_layers, place),
      feature_encoder_(options),
      projection_(options.conv_dim.back(), options.hidden_size),
      positions_(options),
      norm_(options.hidden_size, options.layer_norm_eps) {
  register_block("feature_extractor", feature_encoder_);
  if (options.feat_proj_layer_norm) {
    feature_norm_ = std::make_unique<LayerNorm>(options.conv_dim.back(), options.layer_norm_eps);
    register_block("feature_projection.layer_norm", *feature_norm_);
  }
  register_block("feature_projection.projection", projection_);
  register_block("encoder.pos_conv_embed", positions_);
  register_block("encoder.layer_norm", norm_);
  if (options.is_wavlm()) {
    relative_positions_ =
        std::make_unique<Embedding>(options.num_buckets, options.num_attention_heads);
    register_block("encoder.rel_attn_embed", *relative_positions_);
  }
  for (int64_t i = 0; i < options.num_hidden_layers; ++i) {
    const std::string name = "encoder.layers." + std::to_string(i);
    if (options.is_wavlm()) {
      gated_layers_.push_back(
          std::make_unique<GatedLayer>(options.layer(), options.piece_frames()));
      register_block(name, *gated_layers_.back());
    } else {
      layers_.push_back(std::make_unique<EncoderLayer>(options.layer()));
      register_block(name, *layers_.back());
    }
  }
}

Wav2Vec2::~Wav2Vec2() = default;

at::Tensor Wav2Vec2::prepared(const at::Tensor& audio_BS, const at::Tensor& lengths_B) const {
  const at::NoGradGuard no_grad;
  const at::Tensor valid_BS = zero_beyond(audio_BS.to(at::kFloat), lengths_B, 1);
  return options_.do_normalize ? standardized(valid_BS, lengths_B) : valid_BS;
}

at::Tensor Wav2Vec2::output_frames(const at::Tensor& lengths_B) const {
  at::Tensor frames_B = lengths_B.to(at::kLong);
  for (size_t i = 0; i < options_.conv_kernel.size(); ++i) {
    const at::Tensor steps_B =
        at::floor_divide(frames_B - options_.conv_kernel[i], options_.conv_stride[i]);
    frames_B = (steps_B + 1).clamp_min(0);
  }
  return frames_B;
}

at::Tensor Wav2Vec2::encode(const at::Tensor& x_BTC, const at::Tensor& frames_B,
                            const LayerOutputs& outputs, std::vector<at::Tensor>* states) {
  if (x_BTC.size(1) == 0) {  // too short for a frame; every layer runs, as on the other ranks
    return encode(at::constant_pad_nd(x_BTC, {0, 0, 0, 1}), frames_B, outputs).narrow(1, 0, 0);
  }
  const int64_t width = x_BTC.size(1);
  at::Tensor x_BTH = projection_(feature_norm_ ? (*feature_norm_)(x_BTC) : x_BTC);
  x_BTH = at::dropout(x_BTH, options_.feat_proj_dropout, is_training());
  at::Tensor seen_B11T;
  if (options_.has_mask()) {
    x_BTH = zero_beyond(x_BTH, frames_B, 1);
    // A row without a frame sees its padding, so that nothing is divided by zero.
    seen_B11T = length_mask(frames_B.clamp_min(1), width).unsqueeze(1).unsqueeze(1);
  }
  x_BTH = x_BTH + positions_(x_BTH);
  if (!options_.do_stable_layer_norm) x_BTH = norm_(x_BTH);
  x_BTH = at::dropout(x_BTH, options_.hidden_dropout, is_training());
  at::Tensor bias_NTT;
  if (relative_positions_) {
    bias_NTT =
        (*relative_positions_)(position_buckets(width, options_.num_buckets,
                                                options_.max_bucket_distance, x_BTH.device()))
            .permute({2, 0, 1});
  }
  return outputs.run(
      x_BTH,
      [&](int64_t i, const at::Tensor& x) {
        const auto index = static_cast<size_t>(i);
        if (states != nullptr) states->push_back(x);
        return bias_NTT.defined() ? (*gated_layers_[index])(x, bias_NTT, seen_B11T)
                                  : (*layers_[index])(x, seen_B11T);
      },
      [&](const at::Tensor& x) { return options_.do_stable_layer_norm ? norm_(x) : x; });
}

/// All pieces go through the layers side by side: ranks that share a model run each layer once,
/// whatever their audio is.
at::Tensor Wav2Vec2::features(const at::Tensor& audio_BS, const at::Tensor& frames_B,
                              const LayerOutputs& outputs) {
  const int64_t width = options_.frames(audio_BS.size(1)), most = options_.piece_frames();
  if (most == 0 || width <= most) return encode(feature_encoder_(audio_BS), frames_B, outputs);
  const Pieces pieces(frames_B, width, most);
  const at::Tensor audio_NS = pieces.of(audio_BS, options_.hop(), options_.samples(most));
  return pieces.joined(encode(feature_encoder_(audio_NS), pieces.frames_N(), outputs));
}

std::vector<at::Tensor> Wav2Vec2::hidden_states(const at::Tensor& audio_1S) {
  const at::Tensor length_1 = at::tensor({audio_1S.size(1)}, at::kLong);
  std::vector<at::Tensor> states;
  const at::Tensor last =
      encode(feature_encoder_(prepared(audio_1S, length_1)), output_frames(length_1),
             LayerOutputs(options_.num_hidden_layers, place_), &states);
  states.push_back(last);
  return states;
}

EncoderOutput Wav2Vec2::forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) {
  const at::Tensor lengths = lengths_B.to(audio_BS.device(), at::kLong);
  const at::Tensor audio = prepared(audio_BS, lengths).to(projection_.weight.scalar_type());
  return {features(audio, output_frames(lengths), outputs_), output_frames(lengths_B), {}};
}

double Wav2Vec2::forward_flops(int64_t rows, int64_t num_samples) {
  const int64_t width = options_.frames(num_samples), most = options_.piece_frames();
  if (most == 0 || width <= most) return whole_flops(rows, num_samples);
  return whole_flops(rows * rounded_up(width, most), options_.samples(most));
}

double Wav2Vec2::whole_flops(int64_t rows, int64_t num_samples) const {
  double products = 0;
  int64_t length = num_samples, inputs = 1;
  for (size_t i = 0; i < options_.conv_dim.size(); ++i) {
    const int64_t kernel = options_.conv_kernel[i];
    length = length < kernel ? 0 : (length - kernel) / options_.conv_stride[i] + 1;
    products +=
        static_cast<double>(length * kernel * inputs) * static_cast<double>(options_.conv_dim[i]);
    inputs = options_.conv_dim[i];
  }
  const auto width = static_cast<double>(options_.hidden_size);
  const int64_t taps = options_.num_conv_pos_embeddings;
  const double of_position = width * static_cast<double>(taps) /
                             static_cast<double>(options_.num_conv_pos_embedding_groups);
  products += static_cast<double>(length) * width * (static_cast<double>(inputs) + of_position);
  const double layers = encoder_layers_flops(options_.layer(), outputs_.num_computed(), length);
  return static_cast<double>(rows) * (2 * products + layers);
}

double Wav2Vec2::frame_rate_hz() const {
  return static_cast<double>(options_.sampling_rate) / static_cast<double>(options_.hop());
}

std::unique_ptr<EncoderStream> Wav2Vec2::open_stream(int64_t) {
  throw sees_all_frames(place_, name_of(options_.family));
}

ShardPlan Wav2Vec2::configure_model(const MeshShape& mesh) const {
  ShardPlan plan;
  plan.rows = {{"feature_extractor"}};
  if (feature_norm_) plan.rows.push_back({"feature_projection.layer_norm"});
  plan.rows.push_back({"feature_projection.projection"});
  plan.rows.push_back({"encoder.pos_conv_embed"});
  if (!options_.do_stable_layer_norm) plan.rows.push_back({"encoder.layer_norm"});
  plan.units = {{"feature_extractor"}, {"encoder.pos_conv_embed"}};
  if (relative_positions_) {
    plan.rows.push_back({"encoder.rel_attn_embed"});
    add_gated_layers(options_.layer(), "encoder.layers.*", mesh, plan);
  } else {
    add_encoder_layers(options_.layer(), "encoder.layers", mesh, plan);
  }
  if (options_.do_stable_layer_norm) plan.rows.push_back({"encoder.layer_norm"});
  return plan;
}

NameMap Wav2Vec2::checkpoint_names() const {
  const std::string conv = "encoder.pos_conv_embed.";
  const std::string table = "encoder.layers.0.attention.rel_attn_embed.weight";
  const std::string prefix = std::string(name_of(options_.family)) + ".";
  NameMap names;
  const auto add = [&](const std::string& ours, const std::string& theirs) {
    names.rules.push_back({ours, theirs});
    names.other_spellings.push_back({ours, prefix + theirs});
  };
  // torch's two ways to store a normed weight; transformers 5 writes the first one.
  add(conv + "weight_g", conv + "conv.parametrizations.weight.original0");
  add(conv + "weight_v", conv + "conv.parametrizations.weight.original1");
  for (const char* name : {"weight_g", "weight_v"}) {
    for (const std::string& before : {std::string(), prefix}) {
      names.other_spellings.push_back({conv + name, before + conv + "conv." + name});
    }
  }
  add(conv + "bias", conv + "conv.bias");
  if (relative_positions_) add("encoder.rel_attn_embed.weight", table);
  for (const char* part : {"feature_extractor.conv_layers.**", "feature_projection.**",
                           "encoder.layers.**", "encoder.layer_norm.**"}) {
    add(part, part);
  }
  // Of heads, of the training's codebooks and masks.
  names.ignored = {"masked_spec_embed",
                   prefix + "masked_spec_embed",
                   "lm_head.**",
                   "quantizer.**",
                   "project_hid.**",
                   "project_q.**",
                   "projector.**",
                   "classifier.**",
                   "layer_weights",
                   "tdnn.**",
                   "objective.**",
                   "feature_extractor.weight",
                   "feature_extractor.bias",
                   "label_embeddings_concat",
                   "final_proj.**"};
  return names;
}

std::unique_ptr<WeightSource> Wav2Vec2::initial_values() {
  if (weights_path_.empty()) return nullptr;
  return weight_source(*this, checkpoint_names(), WeightFiles::open(weights_path_));
}

std::map<std::string, at::Tensor> Wav2Vec2::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool) {
  const at::Tensor lengths_B = inputs.at("lengths").to(at::kLong);
  const at::Tensor audio_BS = prepared(inputs.at("audio"), lengths_B);
  const at::Tensor typed_BS = audio_BS.to(projection_.weight.scalar_type());
  const at::Tensor frames_B = output_frames(lengths_B);
  LayerOutputs first(options_.num_hidden_layers, place_);
  first.select({0}, false);
  return {{"normalised", audio_BS},
          {"conv_features", feature_encoder_(typed_BS)},
          {"layer_1", features(typed_BS, frames_B, first)},
          {"features", features(typed_BS, frames_B, outputs_)},
          {"lengths", frames_B}};
}

}  // namespace s2s::wav2vec2

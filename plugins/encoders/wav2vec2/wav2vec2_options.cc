#include "wav2vec2_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "s2s/nn/decoder_family.h"

namespace s2s::wav2vec2 {
namespace {

struct Preset {
  const char* name;
  Family family;
  int64_t hidden_size, layers, heads, intermediate_size;
  bool is_stable, conv_bias, do_normalize;  // is_stable: the form with layer norms and a mask
};
// Values of the published config.json and preprocessor_config.json files.
constexpr Preset kPresets[] = {
    {"wav2vec2_base", Family::kWav2Vec2, 768, 12, 12, 3072, false, false, true},
    {"wav2vec2_large", Family::kWav2Vec2, 1024, 24, 16, 4096, false, false, true},
    {"wav2vec2_large_lv60", Family::kWav2Vec2, 1024, 24, 16, 4096, true, true, true},
    {"hubert_base", Family::kHubert, 768, 12, 12, 3072, false, false, true},
    {"hubert_large", Family::kHubert, 1024, 24, 16, 4096, true, true, true},
    {"hubert_xlarge", Family::kHubert, 1280, 48, 16, 5120, true, true, true},
    {"wavlm_base", Family::kWavLm, 768, 12, 12, 3072, false, false, false},
    {"wavlm_large", Family::kWavLm, 1024, 24, 16, 4096, true, false, true},
};

std::vector<std::string> presets_of(Family family) {
  std::vector<std::string> names = {"none"};
  for (const Preset& preset : kPresets) {
    if (preset.family == family) names.emplace_back(preset.name);
  }
  return names;
}

void visit_convolutions(Wav2Vec2Options& o, OptionVisitor& v) {
  v("feat_extract_norm", o.feat_extract_norm,
    "group: a norm over time after the first convolution; layer: one over channels after each",
    one_of({"group", "layer"}));
  v("feat_extract_activation", o.feat_extract_activation,
    "of the convolutions: gelu, gelu_new, relu, silu");
  v("conv_dim", o.conv_dim, "channels of each convolution", between(1, 65536));
  v("conv_stride", o.conv_stride, "stride of each convolution", between(1, 1024));
  v("conv_kernel", o.conv_kernel, "taps of each convolution", between(1, 65536));
  v("conv_bias", o.conv_bias, "whether the convolutions have biases");
  v("num_conv_pos_embeddings", o.num_conv_pos_embeddings,
    "taps of the convolution that gives positions", between(1, 65536));
  v("num_conv_pos_embedding_groups", o.num_conv_pos_embedding_groups, "groups of it",
    between(1, 65536));
}

}  // namespace

const char* name_of(Family family) {
  if (family == Family::kHubert) return "hubert";
  return family == Family::kWavLm ? "wavlm" : "wav2vec2";
}

void Wav2Vec2Options::visit(OptionVisitor& v) {
  v("path", path,
    "folder of any of the model's classes in Hugging Face's format, or a file of its weights; "
    "null: random weights");
  v("preset", preset, "sizes of a published model; explicit keys take precedence",
    one_of(presets_of(family)));
  v("hidden_size", hidden_size, "width of a frame", between(1, 65536));
  v("num_hidden_layers", num_hidden_layers, "transformer layers", between(1, 1024));
  v("num_attention_heads", num_attention_heads, "heads of a layer", between(1, 1024));
  v("intermediate_size", intermediate_size, "width inside the feed-forward", between(1, 1 << 20));
  v("hidden_act", hidden_act, "of the feed-forward: gelu, gelu_new, relu, silu");
  v("hidden_dropout", hidden_dropout, "dropout of each layer's outputs", between(0, 1));
  v("activation_dropout", activation_dropout, "dropout inside the feed-forward", between(0, 1));
  v("attention_dropout", attention_dropout, "dropout of the attention's weights", between(0, 1));
  v("feat_proj_dropout", feat_proj_dropout, "dropout of the projected features", between(0, 1));
  v("layer_norm_eps", layer_norm_eps, "epsilon of the layer norms", at_least(0));
  visit_convolutions(*this, v);
  v("do_stable_layer_norm", do_stable_layer_norm,
    "norms before attention and feed-forward, and after the last layer; false: after them");
  if (family == Family::kHubert) {
    v("feat_proj_layer_norm", feat_proj_layer_norm, "a norm before the projection of features");
  }
  if (is_wavlm()) {
    v("num_buckets", num_buckets, "buckets of relative positions", between(4, 65536));
    v("max_bucket_distance", max_bucket_distance, "frames; the last bucket has all beyond",
      between(1, 1 << 20));
  }
  v("sampling_rate", sampling_rate, "sample rate in Hz", between(1, 1 << 20));
  v("do_normalize", do_normalize, "audio of each row to mean 0 and variance 1");
  v("return_attention_mask", return_attention_mask,
    "true: layers do not see padding; null: if feat_extract_norm is layer");
  v("chunk_length_s", chunk_length_s,
    "seconds; longer recordings are encoded in pieces of at most this length; 0: whole",
    at_least(0));
}

bool Wav2Vec2Options::has_mask() const {
  if (!return_attention_mask) return feat_extract_norm == "layer";
  return *return_attention_mask == "true";
}

EncoderLayerSpec Wav2Vec2Options::layer() const {
  EncoderLayerSpec spec;
  spec.attention.width = hidden_size;
  spec.attention.num_heads = num_attention_heads;
  spec.attention.dropout = attention_dropout;
  spec.inner_width = intermediate_size;
  spec.activation = activation_named(hidden_act).value_or(Activation::kGelu);
  spec.dropout = hidden_dropout;
  spec.inner_dropout = activation_dropout;
  spec.norm_epsilon = layer_norm_eps;
  spec.norm_first = do_stable_layer_norm;
  spec.attention_name = "attention";
  spec.attention_norm = "layer_norm";
  spec.inner = "feed_forward.intermediate_dense";
  spec.outer = "feed_forward.output_dense";
  return spec;
}

int64_t Wav2Vec2Options::hop() const {
  int64_t hop = 1;
  for (const int64_t stride : conv_stride) hop *= stride;
  return hop;
}

int64_t Wav2Vec2Options::frames(int64_t num_samples) const {
  int64_t frames = num_samples;
  for (size_t i = 0; i < conv_kernel.size(); ++i) {
    frames = frames < conv_kernel[i] ? 0 : (frames - conv_kernel[i]) / conv_stride[i] + 1;
  }
  return frames;
}

int64_t Wav2Vec2Options::samples(int64_t num_frames) const {
  int64_t samples = num_frames;
  for (size_t i = conv_kernel.size(); i-- > 0;) {
    samples = (samples - 1) * conv_stride[i] + conv_kernel[i];
  }
  return samples;
}

int64_t Wav2Vec2Options::piece_frames() const {
  // More than any recording has is the whole recording.
  constexpr double kMostSamples = 1e15;
  const double samples = chunk_length_s * static_cast<double>(sampling_rate);
  return frames(static_cast<int64_t>(std::min(samples, kMostSamples)));
}

Wav2Vec2Options defaults_of(Family family, const Config& node) {
  Wav2Vec2Options options;
  options.family = family;
  const Preset* const preset = chosen_preset(node, kPresets);
  if (preset == nullptr || preset->family != family) return options;
  options.hidden_size = preset->hidden_size;
  options.num_hidden_layers = preset->layers;
  options.num_attention_heads = preset->heads;
  options.intermediate_size = preset->intermediate_size;
  options.feat_extract_norm = preset->is_stable ? "layer" : "group";
  options.do_stable_layer_norm = preset->is_stable;
  options.conv_bias = preset->conv_bias;
  options.do_normalize = preset->do_normalize;
  return options;
}

void check(const Wav2Vec2Options& options, const std::string& path) {
  Findings findings;
  const auto require = [&](bool holds, const std::string& problem) {
    if (!holds) findings.add(encoder_sizes_error(path, problem));
  };
  require(!options.conv_dim.empty() && options.conv_dim.size() == options.conv_stride.size() &&
              options.conv_dim.size() == options.conv_kernel.size(),
          "conv_dim, conv_stride and conv_kernel must have one number for each convolution");
  require(options.hidden_size % options.num_attention_heads == 0,
          "num_attention_heads " + std::to_string(options.num_attention_heads) +
              " must divide hidden_size " + std::to_string(options.hidden_size));
  require(options.hidden_size % options.num_conv_pos_embedding_groups == 0,
          "num_conv_pos_embedding_groups must divide hidden_size");
  for (const std::string& name : {options.hidden_act, options.feat_extract_activation}) {
    require(activation_named(name).has_value(),
            "'" + name + "' must be gelu, gelu_new, gelu_pytorch_tanh, relu or silu");
  }
  if (findings.empty() && options.chunk_length_s > 0) {
    require(
        options.piece_frames() > 0,
        fmt::format("chunk_length_s {} is shorter than a frame, which takes {} samples at {} Hz; "
                    "0 is for whole recordings",
                    options.chunk_length_s, options.samples(1), options.sampling_rate));
  }
  const auto& mask = options.return_attention_mask;
  require(!mask || *mask == "true" || *mask == "false",
          "return_attention_mask must be true or "
          "false");
  findings.throw_if_any();
}

namespace {

/// Keys of the training, the heads and the codebooks of all classes of the families.
std::vector<std::string> keys_without_effect() {
  return {"vocab_size",
          "feat_quantizer_dropout",
          "final_dropout",
          "layerdrop",
          "initializer_range",
          "apply_spec_augment",
          "mask_time_prob",
          "mask_time_length",
          "mask_time_min_masks",
          "mask_feature_prob",
          "mask_feature_length",
          "mask_feature_min_masks",
          "mask_channel_length",
          "mask_channel_min_space",
          "mask_channel_other",
          "mask_channel_prob",
          "mask_channel_selection",
          "mask_time_min_space",
          "mask_time_other",
          "mask_time_selection",
          "num_codevectors_per_group",
          "num_codevector_groups",
          "contrastive_logits_temperature",
          "num_negatives",
          "codevector_dim",
          "proj_codevector_dim",
          "diversity_loss_weight",
          "ctc_loss_reduction",
          "ctc_zero_infinity",
          "use_weighted_layer_sum",
          "classifier_proj_size",
          "tdnn_dim",
          "tdnn_kernel",
          "tdnn_dilation",
          "xvector_output_dim",
          "pad_token_id",
          "adapter_kernel_size",
          "adapter_stride",
          "num_adapter_layers",
          "output_hidden_size",
          "num_ctc_classes",
          "num_feat_extract_layers",
          "replace_prob",
          "freeze_feat_extract_train",
          "no_mask_channel_overlap",
          "no_mask_time_overlap",
          "tie_word_embeddings",
          "gradient_checkpointing",
          "feat_extract_dropout",
          "feat_proj_layer_norm",
          "preprocessor"};
}

EncoderKeys config_keys(Family family) {
  EncoderKeys keys;
  keys.model_types = {name_of(family)};
  keys.options = {"hidden_size",
                  "num_hidden_layers",
                  "num_attention_heads",
                  "intermediate_size",
                  "hidden_act",
                  "hidden_dropout",
                  "activation_dropout",
                  "attention_dropout",
                  "feat_proj_dropout",
                  "layer_norm_eps",
                  "feat_extract_norm",
                  "feat_extract_activation",
                  "conv_dim",
                  "conv_stride",
                  "conv_kernel",
                  "conv_bias",
                  "num_conv_pos_embeddings",
                  "num_conv_pos_embedding_groups",
                  "do_stable_layer_norm"};
  if (family == Family::kHubert) keys.options.emplace_back("feat_proj_layer_norm");
  if (family == Family::kWavLm) {
    keys.options.emplace_back("num_buckets");
    keys.options.emplace_back("max_bucket_distance");
  }
  keys.ignored = keys_without_effect();
  std::erase_if(keys.ignored, [&](const std::string& key) {
    return std::find(keys.options.begin(), keys.options.end(), key) != keys.options.end();
  });
  keys.harmless = {
      {"add_adapter", {"false"}}, {"conv_pos_batch_norm", {"false"}}, {"adapter_attn_dim", {}}};
  return keys;
}

const EncoderKeys& front_end_keys() {
  static const EncoderKeys kKeys = {
      {},
      {"sampling_rate", "do_normalize", "return_attention_mask"},
      {"feature_extractor_type", "processor_class", "padding_side", "tokenizer_class"},
      {{"padding_value", {"0.0", "0"}}, {"feature_size", {"1"}}},
  };
  return kKeys;
}

}  // namespace

Config options_from_hf(Family family, const Config& foreign) {
  Config options = read_encoder_keys(foreign, config_keys(family));
  const Config* const front_end = foreign.find("preprocessor");
  if (front_end == nullptr || front_end->is_null()) return options;
  const Config read = read_encoder_keys(*front_end, front_end_keys());
  for (const auto& [key, value] : read.entries()) options[key] = value;
  // The class's default, also where the convolutions have layer norms.
  if (read.find("return_attention_mask") == nullptr) {
    options["return_attention_mask"] = Config::scalar("false");
  }
  return options;
}

}  // namespace s2s::wav2vec2

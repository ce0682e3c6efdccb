#include <initializer_list>
#include <set>
#include <string>

#include "fastconformer_options.h"
#include "s2s/nn/weights.h"

namespace s2s::fastconformer {
namespace {

std::string text_of(const Config* node) {
  return node == nullptr || node->is_null() ? "null" : node->text();
}

/// Throws unless `key` is missing or has one of the implemented values.
void only(const Config& node, const std::string& place, const char* key,
          std::initializer_list<const char*> known) {
  const Config* found = node.find(key);
  if (found == nullptr) return;
  std::string expected;
  for (const char* value : known) {
    if (text_of(found) == value) return;
    expected += (expected.empty() ? "" : " or ") + std::string(value);
  }
  throw_unsupported_config(place, key, text_of(found), expected);
}

/// The defaults of NeMo's class, overridden by the keys of the foreign block.
Config overlaid(Config defaults, const Config& written, std::initializer_list<const char*> inert) {
  for (const auto& [key, value] : written.entries()) defaults[key] = value;
  defaults.erase("_target_");
  for (const char* key : inert) defaults.erase(key);
  return defaults;
}

Config translate_preprocessor(const Config& node) {
  Config out = overlaid(write_options(MelOptions()), node,
                        {"rng", "use_torchaudio", "stft_conv", "stft_exact_pad", "use_grads",
                         "max_duration", "device"});
  const std::string guard = text_of(out.find("log_zero_guard_value"));
  if (guard == "tiny") out["log_zero_guard_value"] = Config::scalar("1.1754943508222875e-38");
  if (guard == "eps") out["log_zero_guard_value"] = Config::scalar("1.1920928955078125e-07");
  return out;
}

Config translate_spec_augment(const Config& node) {
  const std::string place = "spec_augment";
  only(node, place, "rect_masks", {"0"});
  only(node, place, "mask_value", {"0", "0.0"});
  return overlaid(write_options(SpecAugmentOptions()), node,
                  {"rect_masks", "rect_time", "rect_freq", "mask_value", "rng",
                   "use_numba_spec_augment", "use_vectorized_code"});
}

Config translate_nemo(const Config& foreign) {
  Config out = Config::map();
  const Config none = Config::map();
  const auto part = [&](const char* key) -> const Config& {
    const Config* found = foreign.find(key);
    return found == nullptr || found->is_null() ? none : *found;
  };
  out["preprocessor"] = translate_preprocessor(part("preprocessor"));
  out["encoder"] = overlaid(write_options(ConformerOptions()), part("encoder"), {});
  out["spec_augment"] = translate_spec_augment(part("spec_augment"));
  out["checkpoint"] = Config::scalar("nemo");
  return out;
}

/// A key of transformers, ours, and transformers' default for a missing key.
struct ForeignKey {
  const char* theirs;
  const char* ours;
  const char* fallback;
};

constexpr ForeignKey kFrontEndKeys[] = {
    {"sampling_rate", "sample_rate", "16000"}, {"win_length", "n_window_size", "400"},
    {"hop_length", "n_window_stride", "160"},  {"n_fft", "n_fft", "512"},
    {"preemphasis", "preemph", "0.97"},
};

/// ParakeetFeatureExtractor, or the streaming one without normalization. `bands`: of config.json.
Config front_end_of(const Config& foreign, const Config& bands, const char* normalize) {
  const Config none = Config::map();
  const Config* written = foreign.find("preprocessor");
  const Config& given = written == nullptr ? none : *written;
  only(given, "preprocessor_config.json", "mel_filters_dtype", {"float32"});
  Config node = Config::map();
  for (const auto& [theirs, ours, fallback] : kFrontEndKeys) {
    const Config* found = given.find(theirs);
    node[ours] = found == nullptr ? Config::scalar(fallback) : *found;
  }
  node["normalize"] = Config::scalar(normalize);
  const Config* features = given.find("feature_size");
  node["features"] = features == nullptr ? bands : *features;
  node["pad_to"] = Config::scalar("0");
  return node;
}

/// ParakeetEncoderConfig; those of the streaming encoder are the same.
constexpr ForeignKey kLayerKeys[] = {
    {"num_mel_bins", "feat_in", "80"},
    {"num_hidden_layers", "n_layers", "24"},
    {"hidden_size", "d_model", "1024"},
    {"num_attention_heads", "n_heads", "8"},
    {"conv_kernel_size", "conv_kernel_size", "9"},
    {"subsampling_factor", "subsampling_factor", "8"},
    {"subsampling_conv_channels", "subsampling_conv_channels", "256"},
    {"scale_input", "xscaling", "true"},
    {"attention_bias", "use_bias", "true"},
    {"dropout", "dropout", "0.1"},
    {"dropout_positions", "dropout_emb", "0.0"},
    {"attention_dropout", "dropout_att", "0.1"},
};

/// The keys that offline and streaming encoders share.
Config parakeet_layers(const Config& foreign, const std::string& place) {
  only(foreign, place, "hidden_act", {"silu", "swish"});
  only(foreign, place, "subsampling_conv_kernel_size", {"3"});
  only(foreign, place, "subsampling_conv_stride", {"2"});
  Config encoder = Config::map();
  for (const ForeignKey& key : kLayerKeys) {
    const Config* found = foreign.find(key.theirs);
    encoder[key.ours] = found == nullptr ? Config::scalar(key.fallback) : *found;
  }
  only(foreign, place, "convolution_bias", {text_of(encoder.find("use_bias")).c_str()});
  const int64_t width = encoder["d_model"].as_int(place + ".hidden_size");
  const Config* inner_node = foreign.find("intermediate_size");
  const int64_t inner =
      inner_node == nullptr ? 4 * width : inner_node->as_int(place + ".intermediate_size");
  if (width < 1 || inner % width != 0) {
    throw_unsupported_config(place, "intermediate_size", std::to_string(inner),
                             "a multiple of hidden_size " + std::to_string(width));
  }
  encoder["ff_expansion_factor"] = Config::scalar(std::to_string(inner / width));
  encoder["subsampling"] = Config::scalar("dw_striding");
  return encoder;
}

/// ParakeetEncoderConfig.
Config offline_layers(const Config& foreign) {
  const std::string place = "parakeet_encoder";
  Config encoder = parakeet_layers(foreign, place);
  encoder["causal_downsampling"] = Config::scalar("false");
  encoder["att_context_size"] = Config::list({Config::scalar("-1"), Config::scalar("-1")});
  encoder["att_context_style"] = Config::scalar("regular");
  encoder["conv_norm_type"] = Config::scalar("batch_norm");
  const std::string half =
      std::to_string((encoder["conv_kernel_size"].as_int(place + ".conv_kernel_size") - 1) / 2);
  encoder["conv_context_size"] = Config::list({Config::scalar(half), Config::scalar(half)});
  return encoder;
}

/// NemotronAsrStreamingEncoderConfig.
Config streaming_layers(const Config& foreign) {
  const std::string place = "nemotron_asr_streaming_encoder";
  Config encoder = parakeet_layers(foreign, place);
  const auto number = [&](const char* key, int64_t fallback) {
    const Config* found = foreign.find(key);
    return found == nullptr ? fallback : found->as_int(place + "." + key);
  };
  const int64_t left = number("sliding_window", 71) - 1;
  const int64_t right = number("default_num_lookahead_tokens", 13);
  encoder["causal_downsampling"] = Config::scalar("true");
  encoder["att_context_size"] =
      Config::list({Config::scalar(std::to_string(left)), Config::scalar(std::to_string(right))});
  encoder["att_context_style"] = Config::scalar("chunked_limited");
  encoder["conv_norm_type"] = Config::scalar("layer_norm");
  encoder["conv_context_size"] = Config::scalar("causal");
  return encoder;
}

Config translate_transformers(const Config& foreign, const std::string& type) {
  const bool is_streaming = type.starts_with("nemotron_asr_streaming");
  const Config* nested = foreign.find("encoder_config");
  const Config& layers = nested == nullptr ? foreign : *nested;
  Config out = Config::map();
  out["encoder"] = is_streaming ? streaming_layers(layers) : offline_layers(layers);
  out["preprocessor"] =
      front_end_of(foreign, out["encoder"]["feat_in"], is_streaming ? "NA" : "per_feature");
  out["checkpoint"] = Config::scalar(is_streaming ? "nemotron" : "parakeet");
  return out;
}

}  // namespace

Config translate(const Config& foreign) {
  const Config* nested = foreign.find("encoder_config");
  const Config* type = nested == nullptr ? nullptr : nested->find("model_type");
  if (type == nullptr) type = foreign.find("model_type");
  if (type == nullptr && nested == nullptr) return translate_nemo(foreign);
  const std::string name = type == nullptr ? "parakeet_encoder" : type->text();
  static const std::set<std::string> kKnown = {
      "parakeet_encoder", "parakeet_ctc",           "parakeet_rnnt",
      "parakeet_tdt",     "nemotron_asr_streaming", "nemotron_asr_streaming_encoder"};
  if (!kKnown.contains(name)) {
    throw_unsupported_config("config.json", "model_type", name,
                             "parakeet_encoder, nemotron_asr_streaming_encoder or a model of one");
  }
  return translate_transformers(foreign, name);
}

}  // namespace s2s::fastconformer

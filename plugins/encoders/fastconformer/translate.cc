#include <initializer_list>

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

Config parakeet_front_end(const Config& bands) {
  Config node = Config::map();
  node["sample_rate"] = Config::scalar("16000");
  node["window_size"] = Config::scalar("0.025");
  node["window_stride"] = Config::scalar("0.01");
  node["n_fft"] = Config::scalar("512");
  node["normalize"] = Config::scalar("per_feature");
  node["features"] = bands;
  node["pad_to"] = Config::scalar("0");
  return node;
}

/// Keys of ParakeetEncoderConfig and ours, and transformers' default for a missing key.
struct ParakeetKey {
  const char* theirs;
  const char* ours;
  const char* fallback;
};
constexpr ParakeetKey kParakeetKeys[] = {
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

Config translate_parakeet(const Config& foreign) {
  const std::string place = "parakeet_encoder";
  only(foreign, place, "hidden_act", {"silu", "swish"});
  only(foreign, place, "subsampling_conv_kernel_size", {"3"});
  only(foreign, place, "subsampling_conv_stride", {"2"});
  Config encoder = Config::map();
  for (const ParakeetKey& key : kParakeetKeys) {
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
  encoder["causal_downsampling"] = Config::scalar("false");
  encoder["att_context_size"] = Config::list({Config::scalar("-1"), Config::scalar("-1")});
  encoder["att_context_style"] = Config::scalar("regular");
  encoder["conv_norm_type"] = Config::scalar("batch_norm");
  const std::string half =
      std::to_string((encoder["conv_kernel_size"].as_int(place + ".conv_kernel_size") - 1) / 2);
  encoder["conv_context_size"] = Config::list({Config::scalar(half), Config::scalar(half)});
  Config out = Config::map();
  out["preprocessor"] = parakeet_front_end(encoder["feat_in"]);
  out["encoder"] = std::move(encoder);
  out["checkpoint"] = Config::scalar("parakeet");
  return out;
}

}  // namespace

Config translate(const Config& foreign) {
  if (const Config* nested = foreign.find("encoder_config")) return translate_parakeet(*nested);
  const Config* type = foreign.find("model_type");
  if (type == nullptr) return translate_nemo(foreign);
  if (type->text() != "parakeet_encoder") {
    throw_unsupported_config("config.json", "model_type", type->text(), "parakeet_encoder");
  }
  return translate_parakeet(foreign);
}

}  // namespace s2s::fastconformer

#include "qwen_audio_options.h"

#include <utility>

#include "s2s/nn/weights.h"

namespace s2s::qwen_audio {

const char* name_of(Family family) {
  return family == Family::kQwen2 ? "qwen2_audio" : "qwen3_omni_audio";
}

void QwenAudioOptions::visit(OptionVisitor& v) {
  v("path", path,
    "folder of the model, or of its tower, in Hugging Face's format, or a file of weights; null: "
    "random weights");
  v("num_mel_bins", num_mel_bins, "mel bands", between(1, 4096));
  v("d_model", d_model, "width of a frame", between(4, 65536));
  v("encoder_layers", encoder_layers, "transformer layers", between(1, 1024));
  v("encoder_attention_heads", encoder_attention_heads, "heads of a layer", between(1, 1024));
  v("encoder_ffn_dim", encoder_ffn_dim, "width inside the feed-forward", between(1, 1 << 20));
  v("activation_function", activation_function, "of the feed-forward: gelu, gelu_new, relu, silu");
  v("attention_dropout", attention_dropout, "dropout of the attention's weights", between(0, 1));
  if (is_omni()) {
    v("n_window_infer", n_window_infer, "mel frames that attend to each other, whole hundreds",
      between(100, 1 << 20));
    v("output_dim", output_dim, "width after the projection", between(1, 65536));
    v("downsample_hidden_size", downsample_hidden_size, "channels of the convolutions",
      between(1, 65536));
  } else {
    v("max_source_positions", max_source_positions,
      "frames of a window before pooling: 1500 are 30 s", between(2, 1 << 20));
    v("dropout", dropout, "dropout of embeddings and of each layer's outputs", between(0, 1));
    v("activation_dropout", activation_dropout, "dropout inside the feed-forward", between(0, 1));
  }
  v("sampling_rate", sampling_rate, "sample rate in Hz", between(1, 1 << 20));
  v("hop_length", hop_length, "samples between mel frames", between(1, 65536));
  v("n_fft", n_fft, "samples of the window of the STFT", between(2, 65536));
}

EncoderLayerSpec QwenAudioOptions::layer() const {
  EncoderLayerSpec spec;
  spec.attention.width = d_model;
  spec.attention.num_heads = encoder_attention_heads;
  spec.attention.dropout = attention_dropout;
  spec.attention.has_key_bias = is_omni();
  spec.inner_width = encoder_ffn_dim;
  spec.activation = activation_named(activation_function).value_or(Activation::kGelu);
  if (is_omni()) return spec;  // its class has no other dropout
  spec.dropout = dropout;
  spec.inner_dropout = activation_dropout;
  return spec;
}

QwenAudioOptions defaults_of(Family family) {
  QwenAudioOptions options;
  options.family = family;
  return options;
}

void check(const QwenAudioOptions& options, const std::string& path) {
  Findings findings;
  const auto require = [&](bool holds, const std::string& problem) {
    if (!holds) findings.add(encoder_sizes_error(path, problem));
  };
  require(options.d_model % options.encoder_attention_heads == 0,
          "encoder_attention_heads " + std::to_string(options.encoder_attention_heads) +
              " must divide d_model " + std::to_string(options.d_model));
  require(options.d_model % 2 == 0, "d_model must be even");
  require(options.n_fft % 2 == 0, "n_fft must be even");
  require(2 * options.max_source_positions * options.hop_length > options.n_fft / 2,
          "a window of max_source_positions must be longer than half of n_fft");
  require(activation_named(options.activation_function).has_value(),
          "activation_function '" + options.activation_function +
              "' must be gelu, gelu_new, gelu_pytorch_tanh, relu or silu");
  findings.throw_if_any();
}

namespace {

EncoderKeys tower_keys(Family family) {
  EncoderKeys keys;
  keys.options = {"num_mel_bins",        "d_model",         "encoder_layers",
                  "activation_function", "encoder_ffn_dim", "encoder_attention_heads",
                  "attention_dropout"};
  keys.ignored = {"initializer_range", "init_std",     "encoder_layerdrop", "scale_embedding",
                  "num_hidden_layers", "preprocessor", "conv_chunksize"};
  if (family == Family::kQwen2) {
    keys.model_types = {"qwen2_audio_encoder"};
    for (const char* key : {"max_source_positions", "dropout", "activation_dropout"}) {
      keys.options.emplace_back(key);
    }
  } else {
    keys.model_types = {"qwen3_omni_moe_audio_encoder"};
    for (const char* key : {"n_window_infer", "output_dim", "downsample_hidden_size"}) {
      keys.options.emplace_back(key);
    }
    // Its class does not use these; the number of frames is right for one n_window only.
    for (const char* key : {"max_source_positions", "dropout", "activation_dropout"}) {
      keys.ignored.emplace_back(key);
    }
    keys.harmless = {{"n_window", {"50"}}};
  }
  return keys;
}

const EncoderKeys& front_end_keys() {
  static const EncoderKeys kKeys = {
      {},
      {"sampling_rate", "hop_length", "n_fft"},
      {"feature_extractor_type", "processor_class", "feature_size", "chunk_length", "n_samples",
       "nb_max_frames", "mel_filters", "padding_side", "return_attention_mask"},
      {{"padding_value", {"0.0", "0"}}, {"dither", {"0.0", "0"}}, {"do_normalize", {"false"}}},
  };
  return kKeys;
}

/// Keys of the images of the same file, in the folder of Qwen3-Omni.
bool is_of_images(const std::string& key) {
  return key.starts_with("image_") || key.starts_with("do_") || key.ends_with("_pixels") ||
         key.ends_with("_size") || key == "resample" || key == "rescale_factor" || key == "size" ||
         key.ends_with("_processor_type");
}

struct Tower {
  const Config* block;
  std::string prefix;  // of its keys, in messages
};

/// The tower's block of a model's config.json.
Tower tower_of(const Config& foreign) {
  if (const Config* const thinker = foreign.find("thinker_config")) {
    if (const Config* const audio = thinker->find("audio_config")) {
      return {audio, "thinker_config.audio_config."};
    }
  }
  if (const Config* const audio = foreign.find("audio_config")) return {audio, "audio_config."};
  return {&foreign, ""};
}

}  // namespace

Config options_from_hf(Family family, const Config& foreign) {
  const Tower tower = tower_of(foreign);
  Config options = read_encoder_keys(*tower.block, tower_keys(family), tower.prefix);
  const Config* const front_end = foreign.find("preprocessor");
  if (front_end == nullptr || front_end->is_null()) return options;
  Config audio_keys = Config::map();
  audio_keys.set_origin(front_end->origin());
  for (const auto& [key, value] : front_end->entries()) {
    if (key == "feature_size" || key == "do_normalize" || !is_of_images(key)) {
      audio_keys[key] = value;
    }
  }
  const Config read = read_encoder_keys(audio_keys, front_end_keys());
  for (const auto& [key, value] : read.entries()) options[key] = value;
  const Config* const features = front_end->find("feature_size");
  const Config* const bands = options.find("num_mel_bins");
  if (features != nullptr && bands != nullptr && features->text() != bands->text()) {
    throw_unsupported_config("preprocessor_config.json", "feature_size", features->text(),
                             bands->text() + ", the num_mel_bins of config.json");
  }
  return options;
}

}  // namespace s2s::qwen_audio

#include "whisper_options.h"

#include "s2s/nn/decoder_family.h"
#include "s2s/nn/weights.h"

namespace s2s::whisper {
namespace {

struct Preset {
  const char* name;
  int64_t num_mel_bins, d_model, layers, heads, ffn_dim;
};
// Values of the published config.json files.
constexpr Preset kPresets[] = {
    {"whisper_tiny", 80, 384, 4, 6, 1536},        {"whisper_base", 80, 512, 6, 8, 2048},
    {"whisper_small", 80, 768, 12, 12, 3072},     {"whisper_medium", 80, 1024, 24, 16, 4096},
    {"whisper_large_v2", 80, 1280, 32, 20, 5120}, {"whisper_large_v3", 128, 1280, 32, 20, 5120},
};

}  // namespace

void WhisperOptions::visit(OptionVisitor& v) {
  v("path", path,
    "folder of Whisper in Hugging Face's format, or a file of its weights; null: random weights");
  v("preset", preset, "sizes of a published model; explicit keys take precedence",
    one_of(preset_names(kPresets)));
  v("num_mel_bins", num_mel_bins, "mel bands", between(1, 4096));
  v("d_model", d_model, "width of a frame", between(4, 65536));
  v("encoder_layers", encoder_layers, "transformer layers", between(1, 1024));
  v("encoder_attention_heads", encoder_attention_heads, "heads of a layer", between(1, 1024));
  v("encoder_ffn_dim", encoder_ffn_dim, "width inside the feed-forward", between(1, 1 << 20));
  v("max_source_positions", max_source_positions,
    "frames of a window, which is encoded by itself: 1500 are 30 s", between(1, 1 << 20));
  v("activation_function", activation_function, "of the feed-forward: gelu, gelu_new, relu, silu");
  v("dropout", dropout, "dropout of embeddings and of each layer's outputs", between(0, 1));
  v("attention_dropout", attention_dropout, "dropout of the attention's weights", between(0, 1));
  v("activation_dropout", activation_dropout, "dropout inside the feed-forward", between(0, 1));
  v("sampling_rate", sampling_rate, "sample rate in Hz", between(1, 1 << 20));
  v("hop_length", hop_length, "samples between mel frames", between(1, 65536));
  v("n_fft", n_fft, "samples of the window of the STFT", between(2, 65536));
}

void WhisperScorerOptions::visit(OptionVisitor& v) {
  v("path", path, "folder of WhisperForConditionalGeneration in Hugging Face's format");
  v("model", model,
    "config.json of such a model, with generation_config.json and preprocessor_config.json as its "
    "blocks generation_config and preprocessor; null: those of `path`. Without a path, weights are "
    "random");
  v("language", language,
    "language of the speech, by its name or code (german, de); null: that of "
    "generation_config.json, or else the one that is detected in each clip");
  v("task", task, "transcribe, or translate into English; null: that of generation_config.json");
  v("return_timestamps", return_timestamps,
    "write timestamps also in clips of one window; longer clips always have them");
  v("temperature", temperature,
    "a list: the temperature of a window and, each time that a threshold refuses what was written, "
    "the next one; 0: always the likeliest id",
    at_least(0));
  v("compression_ratio_threshold", compression_ratio_threshold,
    "the next temperature is taken if the ids of a window compress better than this; null: no "
    "matter how well",
    at_least(0));
  v("logprob_threshold", logprob_threshold,
    "the next temperature is taken if the mean log-probability of the ids is below this; null: no "
    "matter how low");
  v("no_speech_threshold", no_speech_threshold,
    "a window below logprob_threshold is silent if <|nospeech|> is likelier than this; null: no "
    "window is",
    between(0, 1));
  v("top_k", top_k,
    "above a temperature of 0, of so many likeliest ids; 0: of all; null: that of "
    "generation_config.json, or else 50",
    at_least(0));
  v("top_p", top_p,
    "above a temperature of 0, of the smallest set of ids with this total probability; null: that "
    "of generation_config.json, or else 1",
    between(0, 1));
  v("seed", seed, "of the random numbers of each clip", at_least(0));
  v("condition_on_prev_tokens", condition_on_prev_tokens,
    "a window begins with the end of what was written before it, unless that took a temperature "
    "of 0.5 or more");
  v("prompt_condition_type", prompt_condition_type,
    "with condition_on_prev_tokens, prompt_ids are as if written before the first segment, or "
    "begin each window",
    one_of({"first-segment", "all-segments"}));
  v("prompt_ids", prompt_ids,
    "ids of a text that is as if spoken before the clip, as a processor's get_prompt_ids gives "
    "them",
    at_least(0));
  v("batch_size", batch_size, "windows that are recognized at once", at_least(1));
}

EncoderLayerSpec WhisperOptions::layer() const {
  EncoderLayerSpec spec;
  spec.attention.width = d_model;
  spec.attention.num_heads = encoder_attention_heads;
  spec.attention.dropout = attention_dropout;
  spec.attention.has_key_bias = false;
  spec.inner_width = encoder_ffn_dim;
  spec.activation = activation_named(activation_function).value_or(Activation::kGelu);
  spec.dropout = dropout;
  spec.inner_dropout = activation_dropout;
  return spec;
}

WhisperOptions defaults_of(const Config& node) {
  WhisperOptions options;
  const Preset* const preset = chosen_preset(node, kPresets);
  if (preset == nullptr) return options;
  options.num_mel_bins = preset->num_mel_bins;
  options.d_model = preset->d_model;
  options.encoder_layers = preset->layers;
  options.encoder_attention_heads = preset->heads;
  options.encoder_ffn_dim = preset->ffn_dim;
  return options;
}

void check(const WhisperOptions& options, const std::string& path) {
  Findings findings;
  const auto require = [&](bool holds, const std::string& problem) {
    if (!holds) findings.add(encoder_sizes_error(path, problem));
  };
  require(options.d_model % options.encoder_attention_heads == 0,
          "encoder_attention_heads " + std::to_string(options.encoder_attention_heads) +
              " must divide d_model " + std::to_string(options.d_model));
  require(options.d_model % 2 == 0, "d_model must be even");
  require(options.n_fft % 2 == 0, "n_fft must be even");
  require(options.window_samples() > options.n_fft / 2,
          "a window of max_source_positions must be longer than half of n_fft");
  require(activation_named(options.activation_function).has_value(),
          "activation_function '" + options.activation_function +
              "' must be gelu, gelu_new, gelu_pytorch_tanh, relu or silu");
  findings.throw_if_any();
}

namespace {

const EncoderKeys& config_keys() {
  static const EncoderKeys kKeys = {
      {"whisper"},
      {"num_mel_bins", "d_model", "encoder_layers", "encoder_attention_heads", "encoder_ffn_dim",
       "max_source_positions", "activation_function", "dropout", "attention_dropout",
       "activation_dropout"},
      // Of the decoder, the heads, the training and generation; the encoder does not read
      // scale_embedding.
      {"vocab_size",
       "decoder_layers",
       "decoder_attention_heads",
       "decoder_ffn_dim",
       "decoder_layerdrop",
       "encoder_layerdrop",
       "init_std",
       "scale_embedding",
       "max_target_positions",
       "pad_token_id",
       "tie_word_embeddings",
       "use_weighted_layer_sum",
       "classifier_proj_size",
       "apply_spec_augment",
       "mask_time_prob",
       "mask_time_length",
       "mask_time_min_masks",
       "mask_feature_prob",
       "mask_feature_length",
       "mask_feature_min_masks",
       "median_filter_width",
       "num_hidden_layers",
       "alignment_heads",
       "lang_to_id",
       "task_to_id",
       "is_multilingual",
       "no_timestamps_token_id",
       "max_initial_timestamp_index",
       "prev_sot_token_id",
       "attention_bias",
       "preprocessor"},
  };
  return kKeys;
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

/// Both files have the number of mel bands. The window is that of max_source_positions, whatever
/// chunk_length says: models for shorter windows often keep the extractor's 30 s.
void check_bands(const Config& front_end, const Config& options) {
  const Config* const features = front_end.find("feature_size");
  const Config* const bands = options.find("num_mel_bins");
  if (features == nullptr || bands == nullptr || features->text() == bands->text()) return;
  throw_unsupported_config("preprocessor_config.json", "feature_size", features->text(),
                           bands->text() + ", the num_mel_bins of config.json");
}

}  // namespace

Config whisper_from_hf(const Config& foreign) {
  Config options = read_encoder_keys(foreign, config_keys());
  const Config* const front_end = foreign.find("preprocessor");
  if (front_end == nullptr || front_end->is_null()) return options;
  const Config read = read_encoder_keys(*front_end, front_end_keys());
  for (const auto& [key, value] : read.entries()) options[key] = value;
  check_bands(*front_end, options);
  return options;
}

}  // namespace s2s::whisper

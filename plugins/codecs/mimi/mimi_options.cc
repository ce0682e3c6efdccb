#include "mimi_options.h"

#include <cmath>
#include <set>

#include "mimi_errors.h"
#include "s2s/nn/frame_codec.h"
#include "s2s/nn/weights.h"

namespace s2s::mimi {

void MimiOptions::visit(OptionVisitor& v) {
  v("path", path,
    "folder of Mimi, Moshi or CSM in Hugging Face's format, or a file of weights, also Kyutai's; "
    "null: random weights");
  v("num_codebooks", num_codebooks, "first codebooks to use; null: num_quantizers", at_least(1));
  v("sampling_rate", sampling_rate, "sample rate in Hz", at_least(1));
  v("frame_rate", frame_rate, "frames of codes per second; null: half of the transformers' rate",
    at_least(0));
  v("hidden_size", hidden_size, "width of the transformers", at_least(1));
  v("num_filters", num_filters, "channels at the sample rate", at_least(1));
  v("num_residual_layers", num_residual_layers, "residual blocks per ratio", at_least(0));
  v("upsampling_ratios", upsampling_ratios, "ratios of the decoder's stages", at_least(1));
  v("kernel_size", kernel_size, "taps of the first convolutions", at_least(1));
  v("last_kernel_size", last_kernel_size, "taps of the last convolutions", at_least(1));
  v("residual_kernel_size", residual_kernel_size, "taps in residual blocks", at_least(1));
  v("dilation_growth_rate", dilation_growth_rate, "dilation of block j is its power j",
    at_least(1));
  v("compress", compress, "residual blocks narrow their channels by this", at_least(1));
  v("codebook_size", codebook_size, "codes of a codebook", at_least(1));
  v("codebook_dim", codebook_dim, "width of a codebook's entries", at_least(1));
  v("num_quantizers", num_quantizers, "codebooks of the weights", at_least(1));
  v("num_semantic_quantizers", num_semantic_quantizers, "codebooks of the semantic half",
    at_least(1));
  v("vector_quantization_hidden_dimension", vector_quantization_hidden_dimension,
    "width that is quantized", at_least(1));
  v("upsample_groups", upsample_groups, "groups of the up-sampling of latents", at_least(1));
  v("num_hidden_layers", num_hidden_layers, "layers of each transformer", at_least(1));
  v("intermediate_size", intermediate_size, "width of their MLPs", at_least(1));
  v("num_attention_heads", num_attention_heads, "query heads", at_least(1));
  v("num_key_value_heads", num_key_value_heads, "key/value heads", at_least(1));
  v("head_dim", head_dim, "width of a head; null: hidden_size / num_attention_heads", at_least(2));
  v("norm_eps", norm_eps, "epsilon of the norms", at_least(0));
  v("rope_theta", rope_theta, "base of the rotary angles", at_least(1));
  v("sliding_window", sliding_window, "frames that a frame sees, including its own", at_least(1));
  v("use_causal_conv", use_causal_conv, "convolutions see no later sample");
  v("use_conv_shortcut", use_conv_shortcut, "residual blocks have a convolution as shortcut");
  v("pad_mode", pad_mode, "what convolutions see before and after the audio",
    one_of({"constant", "reflect", "replicate"}));
  v("trim_right_ratio", trim_right_ratio,
    "share of a transposed convolution's overlap that is cut at the end", between(0, 1));
  v("hidden_act", hidden_act, "activation of the transformers' MLPs",
    one_of({"gelu", "gelu_new", "relu", "silu"}));
  v("attention_bias", attention_bias, "attention's projections have biases");
}

int64_t MimiOptions::hop() const { return seanet_hop(upsampling_ratios); }

SeanetSpec MimiOptions::seanet() const {
  SeanetSpec spec = seanet_sizes(*this);
  spec.use_causal_conv = use_causal_conv;
  spec.trim_right_ratio = trim_right_ratio;
  return spec;
}

int64_t MimiOptions::latent_stride() const {
  if (!frame_rate) return 2;
  const double rate = std::ceil(static_cast<double>(sampling_rate) / static_cast<double>(hop()));
  return static_cast<int64_t>(rate / *frame_rate);
}

void check(const MimiOptions& options, const std::string& path) {
  Findings findings;
  const auto require = [&](bool holds, const std::string& problem) {
    if (!holds) findings.add(sizes_error(path, problem));
  };
  require(options.num_semantic_quantizers < options.num_quantizers,
          "num_semantic_quantizers must be below num_quantizers");
  require(options.books() <= options.num_quantizers &&
              options.books() >= options.num_semantic_quantizers,
          "num_codebooks must be from num_semantic_quantizers to num_quantizers");
  require(options.codebook_dim == options.vector_quantization_hidden_dimension,
          "codebook_dim must be vector_quantization_hidden_dimension");
  require(options.num_attention_heads % options.num_key_value_heads == 0,
          "num_key_value_heads must divide num_attention_heads");
  require(options.width_of_head() % 2 == 0, "head_dim must be even");
  require(options.hidden_size % options.upsample_groups == 0,
          "upsample_groups must divide hidden_size");
  require(options.num_filters % options.compress == 0, "compress must divide num_filters");
  require(!options.upsampling_ratios.empty(), "upsampling_ratios must have an entry");
  require(options.latent_stride() >= 1, "frame_rate must not be above the transformers' rate");
  findings.throw_if_any();
}

namespace {

/// Settings of training, and of what the class does not do here.
const std::set<std::string>& unused_keys() {
  static const std::set<std::string> kUnused = {"attention_dropout",
                                                "initializer_range",
                                                "layer_scale_initial_scale",
                                                "max_position_embeddings",
                                                "tie_word_embeddings",
                                                "use_cache",
                                                "use_streaming",
                                                "normalize",
                                                "chunk_length_s",
                                                "overlap",
                                                "audio_channels",
                                                "_frame_rate",
                                                "rope_parameters"};
  return kUnused;
}

std::string text_of(const Config& value) { return value.is_scalar() ? value.text() : "a block"; }

const Config& mimi_block(const Config& foreign) {
  for (const char* key : {"audio_encoder_config", "codec_config"}) {
    const Config* const block = foreign.find(key);
    if (block != nullptr && block->is_map()) return *block;
  }
  return foreign;
}

void read_rope(const std::string& place, const Config& rope, Config& options) {
  for (const auto& [key, value] : rope.entries()) {
    if (key == "rope_theta") {
      options[key] = value;
    } else if (key != "rope_type" || text_of(value) != "default") {
      throw_unsupported_config(place, "rope_parameters." + key, text_of(value),
                               "rope_theta, and rope_type 'default'");
    }
  }
}

}  // namespace

Config mimi_from_hf(const Config& foreign) {
  const Config& block = mimi_block(foreign);
  std::set<std::string> known;
  for (const OptionRow& row : list_options<MimiOptions>()) known.insert(row.name);
  known.erase("path");
  Config options = read_codec_keys(block, "mimi", known, unused_keys());
  const std::string place =
      foreign.origin().source.empty() ? "config.json" : foreign.origin().source;
  const auto given = [&](const char* key) {
    const Config* const value = block.find(key);
    return value == nullptr || value->is_null() ? nullptr : value;
  };
  const Config* const channels = given("audio_channels");
  if (channels != nullptr && text_of(*channels) != "1") {
    throw_unsupported_config(place, "audio_channels", text_of(*channels), "1");
  }
  if (const Config* const rate = given("_frame_rate")) options["frame_rate"] = *rate;
  if (const Config* const rope = given("rope_parameters")) read_rope(place, *rope, options);
  return options;
}

Config mimi_to_hf(const MimiOptions& options) {
  return write_codec_keys(write_options(options), "mimi", "MimiModel");
}

}  // namespace s2s::mimi

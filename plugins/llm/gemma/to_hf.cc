// The inverse of from_hf.cc: writes the config.json of GemmaConfig, Gemma2Config or
// Gemma3TextConfig.

#include <map>
#include <string>

#include "gemma_options.h"

namespace s2s::gemma {
namespace {

std::string architecture(const std::string& model_type) {
  static const std::map<std::string, std::string> names = {{"gemma", "GemmaForCausalLM"},
                                                           {"gemma2", "Gemma2ForCausalLM"},
                                                           {"gemma3_text", "Gemma3ForCausalLM"}};
  return names.at(model_type);
}

/// Removes keys that a class does not have, and keys without effect at this value.
void drop_defaults(const GemmaOptions& options, const DecoderSpec& spec, Config& foreign) {
  const bool is_gemma_1 = options.model_type == "gemma";
  if (options.model_type != "gemma3_text") foreign.erase("rope_local_base_freq");
  const bool is_derived =
      options.model_type == "gemma3_text" && options.windows.layer_types.empty();
  if (!is_derived) foreign.erase("sliding_window_pattern");  // layer_types defines it
  if (!options.mlp_bias) foreign.erase("mlp_bias");
  if (is_gemma_1 && spec.attention.window == 0) {
    foreign.erase("sliding_window");
    foreign.erase("layer_types");
  }
}

}  // namespace

Config to_hf(const GemmaOptions& options, const DecoderSpec& spec) {
  GemmaOptions full = options;  // write everything, because the classes have other defaults
  full.head_dim = spec.shape.head_dim;
  full.num_key_value_heads = spec.shape.num_key_value_heads;
  full.windows.layer_types = layer_types_of(spec);
  const bool is_gemma_1 = options.model_type == "gemma";
  if (!is_gemma_1) {
    full.query_pre_attn_scalar =
        options.query_pre_attn_scalar.value_or(static_cast<double>(spec.shape.head_dim));
  }
  if (spec.attention.window == 0) full.windows.sliding_window = options.max_position_embeddings;
  Config foreign =
      decoder_to_hf(write_options(full), options.model_type, architecture(options.model_type));
  drop_defaults(options, spec, foreign);
  const Config activation = Config::scalar(options.hidden_act, true);
  if (!is_gemma_1) {
    foreign.erase("hidden_act");
    foreign["hidden_activation"] = activation;
  }
  // Null is not the default of these keys, so they must be present. operator[] adds a missing key
  // as null and keeps an existing value.
  foreign["pad_token_id"];
  if (options.model_type == "gemma2") foreign["attn_logit_softcapping"];
  if (!is_gemma_1) foreign["final_logit_softcapping"];
  return foreign;
}

}  // namespace s2s::gemma

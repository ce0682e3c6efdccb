// Reads the config.json of GemmaConfig, Gemma2Config, Gemma3TextConfig and (its text model)
// Gemma3Config, in the formats of transformers 4 and 5. Missing keys have the defaults of those
// classes.

#include "gemma_options.h"

namespace s2s::gemma {
namespace {

/// Rules for all versions. Old files of Gemma 1 contain "gelu" but mean its tanh approximation,
/// which all versions compute; only hidden_activation can select another.
ConfigRules shared_rules() {
  ConfigRules rules;
  rules.model_types = {"gemma", "gemma2", "gemma3_text", "gemma3"};
  rules.rope_types = all_rope_types();
  rules.options = {"model_type"};
  rules.ignored = {"cache_implementation"};
  rules.harmless = {{"hidden_act", {"gelu_pytorch_tanh", "gelu"}},
                    {"hidden_activation", {"gelu_pytorch_tanh"}},
                    {"use_bidirectional_attention", {"false"}},
                    {"mlp_bias", {"false"}}};
  rules.defaults = {{"head_dim", "256"},
                    {"pad_token_id", "0"},
                    {"tie_word_embeddings", "true"},
                    {"max_position_embeddings", "8192"}};
  return rules;
}

ConfigRules gemma1_rules() {
  ConfigRules rules = shared_rules();
  rules.defaults["num_key_value_heads"] = "16";
  return rules;
}

ConfigRules gemma2_rules() {
  ConfigRules rules = shared_rules();
  rules.options.insert(rules.options.end(),
                       {"sliding_window", "layer_types", "query_pre_attn_scalar",
                        "attn_logit_softcapping", "final_logit_softcapping"});
  // An old alternative name that transformers does not read.
  rules.ignored.emplace_back("sliding_window_size");
  rules.defaults["num_key_value_heads"] = "4";
  rules.defaults["sliding_window"] = "4096";
  rules.defaults["query_pre_attn_scalar"] = "256";
  rules.defaults["attn_logit_softcapping"] = "50.0";
  rules.defaults["final_logit_softcapping"] = "30.0";
  rules.defaults["sliding_window_pattern"] = "2";
  return rules;
}

/// Sizes also have defaults, because the text part of the larger models omits them.
ConfigRules gemma3_rules() {
  ConfigRules rules = shared_rules();
  rules.options.insert(rules.options.end(), {"sliding_window", "layer_types",
                                             "sliding_window_pattern", "query_pre_attn_scalar",
                                             "final_logit_softcapping", "rope_local_base_freq"});
  // transformers 5 writes it in addition to layer_types, but does not read it.
  rules.ignored.emplace_back("_sliding_window_pattern");
  rules.harmless["attn_logit_softcapping"] = {};  // the class has this key but does not use it
  rules.has_local_rope = true;
  rules.defaults["vocab_size"] = "262208";
  rules.defaults["num_attention_heads"] = "8";
  rules.defaults["num_key_value_heads"] = "4";
  rules.defaults["sliding_window"] = "4096";
  rules.defaults["sliding_window_pattern"] = "6";
  rules.defaults["query_pre_attn_scalar"] = "256";
  rules.defaults["attn_logit_softcapping"] = "null";
  rules.defaults["final_logit_softcapping"] = "null";
  rules.defaults["rope_theta"] = "1000000.0";
  rules.defaults["rope_local_base_freq"] = "10000.0";
  rules.defaults["max_position_embeddings"] = "131072";
  return rules;
}

/// Rules for the top level of a model with images. Keys of the image part are ignored.
ConfigRules image_model_rules() {
  ConfigRules rules;
  rules.model_types = {"gemma3"};
  rules.options = {"text_config", "tie_word_embeddings"};
  rules.ignored = {"vision_config",     "mm_tokens_per_image", "boi_token_index", "eoi_token_index",
                   "image_token_index", "boi_token_id",        "eoi_token_id",    "image_token_id"};
  return rules;
}

/// The text part of a model with images.
Config translate_text_part(const Config& foreign) {
  Config text = text_config_of(foreign, image_model_rules());
  if (text.find("model_type") == nullptr) text["model_type"] = Config::scalar("gemma3_text", true);
  ConfigRules rules = gemma3_rules();
  rules.model_types = {"gemma3_text"};
  rules.prefix = "text_config.";
  return decoder_from_hf(text, rules);
}

}  // namespace

Config from_hf(const Config& foreign) {
  const Config* found = foreign.find("model_type");
  const std::string type = found == nullptr ? "" : found->text();
  if (type == "gemma3") return translate_text_part(foreign);
  if (type == "gemma3_text") return decoder_from_hf(foreign, gemma3_rules());
  return decoder_from_hf(foreign, type == "gemma2" ? gemma2_rules() : gemma1_rules());
}

}  // namespace s2s::gemma

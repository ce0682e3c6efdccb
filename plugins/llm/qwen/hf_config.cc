// Converts the config.json of Qwen2Config (Qwen 2 and 2.5) and Qwen3Config, in the formats of
// transformers 4 and 5. Missing keys have the defaults of those classes.

#include "qwen_options.h"

namespace s2s::qwen {

Config from_hf(const Config& foreign) {
  ConfigRules rules;
  rules.model_types = {"qwen2", "qwen3"};
  rules.rope_types = all_rope_types();
  rules.options = {"model_type", "use_sliding_window", "max_window_layers", "sliding_window",
                   "layer_types"};
  rules.harmless = {{"use_mrope", {"false"}}, {"mlp_bias", {"false"}}};
  rules.defaults = {{"num_key_value_heads", "32"},
                    {"max_position_embeddings", "32768"},
                    {"use_sliding_window", "false"},
                    {"max_window_layers", "28"},
                    {"sliding_window", "4096"}};
  const Config* type = foreign.find("model_type");
  if (type != nullptr && type->text() == "qwen3") {
    rules.defaults["head_dim"] = "128";
  } else {
    rules.ignored = {"attention_bias"};  // Qwen 2 always has biases on q, k and v, but not on o
  }
  return decoder_from_hf(foreign, rules);
}

Config to_hf(const QwenOptions& options, const DecoderSpec& spec) {
  const bool is_qwen_2 = options.model_type == "qwen2";
  if (is_qwen_2 && spec.o_bias) return {};  // no class of transformers has these biases
  QwenOptions full = options;
  full.head_dim = spec.shape.head_dim;
  full.num_key_value_heads = spec.shape.num_key_value_heads;
  full.windows.layer_types = layer_types_of(spec);
  full.use_sliding_window = spec.attention.window > 0;
  Config foreign = decoder_to_hf(write_options(full), options.model_type,
                                 is_qwen_2 ? "Qwen2ForCausalLM" : "Qwen3ForCausalLM");
  if (is_qwen_2) foreign.erase("attention_bias");
  if (!options.mlp_bias) foreign.erase("mlp_bias");
  return foreign;
}

}  // namespace s2s::qwen

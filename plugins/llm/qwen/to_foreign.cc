// The inverse of translate.cc: a config.json for Qwen2Config or Qwen3Config.

#include "options.h"

namespace s2s::qwen {

Config to_foreign(const QwenOptions& options, const DecoderFacts& facts) {
  const bool is_qwen_2 = options.model_type == "qwen2";
  if (is_qwen_2 && facts.o_bias) return {};  // no class of transformers has biases there
  QwenOptions full = options;
  full.head_dim = facts.shape.head_dim;
  full.num_key_value_heads = facts.shape.num_key_value_heads;
  full.windows.layer_types = layer_types_of(facts);
  full.use_sliding_window = facts.attention.window > 0;
  Config foreign = decoder_to_foreign(write_options(full), options.model_type,
                                      is_qwen_2 ? "Qwen2ForCausalLM" : "Qwen3ForCausalLM");
  if (is_qwen_2) foreign.erase("attention_bias");
  if (!options.mlp_bias) foreign.erase("mlp_bias");
  return foreign;
}

}  // namespace s2s::qwen

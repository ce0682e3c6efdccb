// The inverse of from_hf.cc: a config.json for Qwen2Config or Qwen3Config.

#include "options.h"

namespace s2s::qwen {

Config to_hf(const QwenOptions& options, const DecoderSpec& spec) {
  const bool is_qwen_2 = options.model_type == "qwen2";
  if (is_qwen_2 && spec.o_bias) return {};  // no class of transformers has biases there
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

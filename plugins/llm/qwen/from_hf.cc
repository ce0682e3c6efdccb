// config.json of Qwen2Config (Qwen 2 and 2.5) and Qwen3Config, in the spellings of transformers 4
// and
// 5. What a file leaves out has those classes' values.

#include "options.h"

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
    rules.ignored = {"attention_bias"};  // Qwen 2 always has biases on q, k and v, never on o
  }
  return decoder_from_hf(foreign, rules);
}

}  // namespace s2s::qwen

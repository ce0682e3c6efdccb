#include "options.h"

#include <cmath>

namespace s2s::gemma {
namespace {

struct Preset {
  const char* name;
  const char* model_type;
  int64_t vocab_size, hidden_size, intermediate_size, layers, heads, kv_heads, head_dim;
  double query_pre_attn_scalar;
  int64_t window;
  double rope_factor;
};
// clang-format off
constexpr Preset kPresets[] = {
    // name         model type     vocabulary hidden inner layers heads kv head scalar window rope
    {"gemma_2b",     "gemma",       256000,   2048, 16384, 18,    8,    1,  256, 256,   0,     1},
    {"gemma_7b",     "gemma",       256000,   3072, 24576, 28,    16,   16, 256, 256,   0,     1},
    {"gemma_2_2b",   "gemma2",      256000,   2304, 9216,  26,    8,    4,  256, 256,   4096,  1},
    {"gemma_2_9b",   "gemma2",      256000,   3584, 14336, 42,    16,   8,  256, 256,   4096,  1},
    {"gemma_2_27b",  "gemma2",      256000,   4608, 36864, 46,    32,   16, 128, 144,   4096,  1},
    {"gemma_3_270m", "gemma3_text", 262144,   640,  2048,  18,    4,    1,  256, 256,   512,   1},
    {"gemma_3_1b",   "gemma3_text", 262144,   1152, 6912,  26,    4,    1,  256, 256,   512,   1},
    {"gemma_3_4b",   "gemma3_text", 262208,   2560, 10240, 34,    8,    4,  256, 256,   1024,  8},
    {"gemma_3_12b",  "gemma3_text", 262208,   3840, 15360, 48,    16,   8,  256, 256,   1024,  8},
    {"gemma_3_27b",  "gemma3_text", 262208,   5376, 21504, 62,    32,   16, 128, 168,   1024,  8},
};
// clang-format on

std::vector<std::string> preset_names() {
  std::vector<std::string> names = {"none"};
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

const Preset* preset_in(const Config& node) {
  const Config* name = node.find("preset");
  for (const Preset& preset : kPresets) {
    if (name != nullptr && name->text() == preset.name) return &preset;
  }
  return nullptr;
}

void apply(const Preset& preset, GemmaOptions& options) {
  options.preset = preset.name;
  options.vocab_size = preset.vocab_size;
  options.hidden_size = preset.hidden_size;
  options.intermediate_size = preset.intermediate_size;
  options.num_hidden_layers = preset.layers;
  options.num_attention_heads = preset.heads;
  options.num_key_value_heads = preset.kv_heads;
  options.head_dim = preset.head_dim;
  if (options.query_pre_attn_scalar) options.query_pre_attn_scalar = preset.query_pre_attn_scalar;
  if (preset.window > 0) options.windows.sliding_window = preset.window;
  if (preset.rope_factor == 1) return;
  options.rope_scaling.rope_type = "linear";
  options.rope_scaling.factor = preset.rope_factor;
}

/// What the classes of transformers take where nothing is said.
GemmaOptions of_model_type(const std::string& type) {
  GemmaOptions options;
  options.model_type = type;
  options.hidden_act = "gelu_pytorch_tanh";
  options.tie_word_embeddings = true;
  options.max_position_embeddings = type == "gemma3_text" ? 131072 : 8192;
  if (type == "gemma") return options;
  options.query_pre_attn_scalar = 256;
  options.windows.sliding_window = 4096;
  options.sliding_window_pattern = type == "gemma2" ? 2 : 6;
  if (type == "gemma2") {
    options.attn_logit_softcapping = 50;
    options.final_logit_softcapping = 30;
  } else {
    options.rope_theta = 1e6;
  }
  return options;
}

}  // namespace

void GemmaOptions::visit(OptionVisitor& v) {
  v("preset", preset, "sizes of a published model; keys that are written win",
    one_of(preset_names()));
  v("model_type", model_type, "which Gemma: how many norms, and of what",
    one_of({"gemma", "gemma2", "gemma3_text"}));
  DecoderOptions::visit(v);
  windows.visit(v);
  v("sliding_window_pattern", sliding_window_pattern,
    "one layer of so many, the last, sees all positions, the others a window; null: all see all",
    at_least(1));
  v("query_pre_attn_scalar", query_pre_attn_scalar,
    "scores are divided by its square root; null: head_dim", at_least(1e-6));
  v("attn_logit_softcapping", attn_logit_softcapping, "cap of scores; null: none", at_least(1e-6));
  v("final_logit_softcapping", final_logit_softcapping, "cap of logits; null: none",
    at_least(1e-6));
  v("rope_local_base_freq", rope_local_base_freq,
    "rotary base of layers with a window, dimensionless (gemma3_text)", at_least(1));
}

GemmaOptions defaults_for(const Config& node) {
  const Preset* preset = preset_in(node);
  const Config* type = node.find("model_type");
  std::string name = GemmaOptions().model_type;
  if (preset != nullptr) name = preset->model_type;
  if (type != nullptr && type->is_scalar()) name = type->text();
  GemmaOptions options = of_model_type(name);
  if (preset != nullptr) apply(*preset, options);
  return options;
}

DecoderFacts facts_of(const GemmaOptions& options, const std::string& path) {
  DecoderFacts facts = decoder_facts(options, all_rope_types(), path);
  facts.norm_weight = NormWeight::kAddedToOne;
  facts.post_norms = options.model_type != "gemma";
  facts.qk_norm = options.model_type == "gemma3_text";
  facts.embedding_scale = std::sqrt(static_cast<double>(options.hidden_size));
  if (options.query_pre_attn_scalar) {
    facts.attention.scale = 1 / std::sqrt(*options.query_pre_attn_scalar);
  }
  facts.attention.soft_cap = options.attn_logit_softcapping.value_or(0);
  facts.logit_soft_cap = options.final_logit_softcapping.value_or(0);
  std::vector<bool> local(static_cast<size_t>(options.num_hidden_layers));
  for (size_t i = 0; i < local.size(); ++i) {
    local[i] = (static_cast<int64_t>(i) + 1) % options.sliding_window_pattern.value_or(1) != 0;
  }
  set_windows(options.windows, local, path, facts);
  if (options.model_type == "gemma3_text") {
    facts.local_rotary.emplace();
    facts.local_rotary->theta = options.rope_local_base_freq;
  }
  return facts;
}

}  // namespace s2s::gemma

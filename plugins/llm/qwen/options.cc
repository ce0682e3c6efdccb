#include "options.h"

namespace s2s::qwen {
namespace {

struct Preset {
  const char* name;
  const char* model_type;
  int64_t vocab_size, hidden_size, intermediate_size, layers, heads, kv_heads, head_dim;
  bool tied;
};
// clang-format off
constexpr Preset kPresets[] = {
    // name          model type vocabulary hidden inner layers heads kv head tied
    {"qwen_2.5_0.5b", "qwen2",   151936,   896,  4864,  24,    14,   2, 64,  true },
    {"qwen_2.5_1.5b", "qwen2",   151936,   1536, 8960,  28,    12,   2, 128, true },
    {"qwen_2.5_3b",   "qwen2",   151936,   2048, 11008, 36,    16,   2, 128, true },
    {"qwen_2.5_7b",   "qwen2",   152064,   3584, 18944, 28,    28,   4, 128, false},
    {"qwen_2.5_14b",  "qwen2",   152064,   5120, 13824, 48,    40,   8, 128, false},
    {"qwen_2.5_32b",  "qwen2",   152064,   5120, 27648, 64,    40,   8, 128, false},
    {"qwen_2.5_72b",  "qwen2",   152064,   8192, 29568, 80,    64,   8, 128, false},
    {"qwen_3_0.6b",   "qwen3",   151936,   1024, 3072,  28,    16,   8, 128, true },
    {"qwen_3_1.7b",   "qwen3",   151936,   2048, 6144,  28,    16,   8, 128, true },
    {"qwen_3_4b",     "qwen3",   151936,   2560, 9728,  36,    32,   8, 128, true },
    {"qwen_3_8b",     "qwen3",   151936,   4096, 12288, 36,    32,   8, 128, false},
    {"qwen_3_14b",    "qwen3",   151936,   5120, 17408, 40,    40,   8, 128, false},
    {"qwen_3_32b",    "qwen3",   151936,   5120, 25600, 64,    64,   8, 128, false},
};
// clang-format on

std::vector<std::string> preset_names() {
  std::vector<std::string> names = {"none"};
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

}  // namespace

void QwenOptions::visit(OptionVisitor& v) {
  v("preset", preset, "sizes of a published model; keys that are written win",
    one_of(preset_names()));
  v("model_type", model_type,
    "qwen2 (also 2.5): biases on q, k and v whatever attention_bias says; qwen3: queries and keys "
    "are normed",
    one_of({"qwen2", "qwen3"}));
  DecoderOptions::visit(v);
  v("use_sliding_window", use_sliding_window, "some layers see a window only");
  v("max_window_layers", max_window_layers, "layers from this one on see a window", at_least(0));
  windows.visit(v);
}

QwenOptions defaults_for(const Config& node) {
  QwenOptions options;
  options.max_position_embeddings = 32768;
  options.windows.sliding_window = 4096;
  const Config* name = node.find("preset");
  for (const Preset& preset : kPresets) {
    if (name == nullptr || name->text() != preset.name) continue;
    options.preset = preset.name;
    options.model_type = preset.model_type;
    options.vocab_size = preset.vocab_size;
    options.hidden_size = preset.hidden_size;
    options.intermediate_size = preset.intermediate_size;
    options.num_hidden_layers = preset.layers;
    options.num_attention_heads = preset.heads;
    options.num_key_value_heads = preset.kv_heads;
    options.head_dim = preset.head_dim;
    options.tie_word_embeddings = preset.tied;
    options.rope_theta = 1e6;
  }
  return options;
}

DecoderFacts facts_of(const QwenOptions& options, const std::string& path) {
  DecoderFacts facts = decoder_facts(options, all_rope_types(), path);
  facts.qk_norm = options.model_type == "qwen3";
  if (options.model_type == "qwen2") facts.qkv_bias = true;
  std::vector<bool> local(static_cast<size_t>(options.num_hidden_layers), false);
  const auto first = static_cast<size_t>(options.max_window_layers);
  WindowOptions windows = options.windows;
  if (!options.use_sliding_window) windows.sliding_window.reset();
  for (size_t i = first; windows.sliding_window && i < local.size(); ++i) local[i] = true;
  set_windows(windows, local, path, facts);
  return facts;
}

}  // namespace s2s::qwen

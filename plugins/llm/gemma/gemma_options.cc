#include "gemma_options.h"

#include <cmath>

#include "s2s/nn/decoder_family.h"

namespace s2s::gemma {
namespace {

struct Preset : DecoderSizes {
  const char* model_type;
  double query_pre_attn_scalar;
  int64_t window, max_positions;
  double rope_factor;
};
// Values of the published config.json files and the defaults of transformers' classes, checked
// against the tables of torchtune (Gemma 1, 2) and litgpt (1, 2, and 3 except 270M). The 32 K
// positions of 270M and 1B are Google's.
constexpr const char *kOne = "gemma", *kTwo = "gemma2", *kThree = "gemma3_text";
// clang-format off
constexpr Preset kPresets[] = {
    // name         vocabulary hidden inner layers heads kv head  type   scalar window seen  rope
    {{"gemma_2b",     256000,  2048, 16384, 18,    8,  1,  256}, kOne,   256,   0,    8192,   1},
    {{"gemma_7b",     256000,  3072, 24576, 28,    16, 16, 256}, kOne,   256,   0,    8192,   1},
    {{"gemma_2_2b",   256000,  2304, 9216,  26,    8,  4,  256}, kTwo,   256,   4096, 8192,   1},
    {{"gemma_2_9b",   256000,  3584, 14336, 42,    16, 8,  256}, kTwo,   256,   4096, 8192,   1},
    {{"gemma_2_27b",  256000,  4608, 36864, 46,    32, 16, 128}, kTwo,   144,   4096, 8192,   1},
    {{"gemma_3_270m", 262144,  640,  2048,  18,    4,  1,  256}, kThree, 256,   512,  32768,  1},
    {{"gemma_3_1b",   262144,  1152, 6912,  26,    4,  1,  256}, kThree, 256,   512,  32768,  1},
    {{"gemma_3_4b",   262208,  2560, 10240, 34,    8,  4,  256}, kThree, 256,   1024, 131072, 8},
    {{"gemma_3_12b",  262208,  3840, 15360, 48,    16, 8,  256}, kThree, 256,   1024, 131072, 8},
    {{"gemma_3_27b",  262208,  5376, 21504, 62,    32, 16, 128}, kThree, 168,   1024, 131072, 8},
};
// clang-format on

void apply(const Preset& preset, GemmaOptions& options) {
  options.preset = preset.name;
  set_sizes(preset, options);
  options.max_position_embeddings = preset.max_positions;
  if (options.query_pre_attn_scalar) options.query_pre_attn_scalar = preset.query_pre_attn_scalar;
  if (preset.window > 0) options.windows.sliding_window = preset.window;
  if (preset.rope_factor == 1) return;
  options.rope_scaling.rope_type = "linear";
  options.rope_scaling.factor = preset.rope_factor;
}

/// The defaults of transformers' classes.
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
  v("preset", preset, "sizes of a published model; explicit keys take precedence",
    one_of(preset_names(kPresets)));
  v("model_type", model_type, "Gemma version, which determines the norms",
    one_of({"gemma", "gemma2", "gemma3_text"}));
  DecoderOptions::visit(v);
  windows.visit(v);
  v("sliding_window_pattern", sliding_window_pattern,
    "every n-th layer attends to all positions, the others to a window; null: all layers attend to "
    "all positions",
    at_least(1));
  v("query_pre_attn_scalar", query_pre_attn_scalar,
    "scores are divided by its square root; null: head_dim", at_least(1e-6));
  v("attn_logit_softcapping", attn_logit_softcapping, "soft cap of attention scores; null: none",
    at_least(1e-6));
  v("final_logit_softcapping", final_logit_softcapping, "soft cap of logits; null: none",
    at_least(1e-6));
  v("rope_local_base_freq", rope_local_base_freq,
    "rotary base of layers with a window, dimensionless (gemma3_text)", at_least(1));
}

GemmaOptions defaults_for(const Config& node) {
  const Preset* preset = chosen_preset(node, kPresets);
  const Config* type = node.find("model_type");
  std::string name = GemmaOptions().model_type;
  if (preset != nullptr) name = preset->model_type;
  if (type != nullptr && type->is_scalar()) name = type->text();
  GemmaOptions options = of_model_type(name);
  if (preset != nullptr) apply(*preset, options);
  return options;
}

DecoderSpec spec_of(const GemmaOptions& options, const std::string& path) {
  DecoderSpec spec = decoder_spec(options, all_rope_types(), path);
  spec.norm_weight = NormWeight::kAddedToOne;
  spec.post_norms = options.model_type != "gemma";
  spec.qk_norm = options.model_type == "gemma3_text";
  spec.embedding_scale = std::sqrt(static_cast<double>(options.hidden_size));
  if (options.query_pre_attn_scalar) {
    spec.attention.scale = 1 / std::sqrt(*options.query_pre_attn_scalar);
  }
  spec.attention.soft_cap = options.attn_logit_softcapping.value_or(0);
  spec.logit_soft_cap = options.final_logit_softcapping.value_or(0);
  std::vector<bool> local(static_cast<size_t>(options.num_hidden_layers));
  for (size_t i = 0; i < local.size(); ++i) {
    local[i] = (static_cast<int64_t>(i) + 1) % options.sliding_window_pattern.value_or(1) != 0;
  }
  set_windows(options.windows, local, path, spec);
  if (options.model_type == "gemma3_text") {
    spec.local_rotary.emplace();
    spec.local_rotary->theta = options.rope_local_base_freq;
    // Parts of checkpoints with images.
    spec.other_parts = {"vision_tower.**", "model.vision_tower.**", "multi_modal_projector.**",
                        "model.multi_modal_projector.**"};
  }
  return spec;
}

}  // namespace s2s::gemma

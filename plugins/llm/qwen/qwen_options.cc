#include "qwen_options.h"

#include "s2s/nn/decoder_family.h"

namespace s2s::qwen {
namespace {

struct Preset : DecoderSizes {
  const char* model_type;
  bool tied;
  double rms_norm_eps;
  int64_t max_positions;
};
// Values of the published config.json files of the base models (2.5) and of the models without a
// suffix (3), checked against the tables of torchtune and litgpt. For Qwen 2.5's instruct models of
// 14B and above, torchtune has an eps of 1e-6 and litgpt 1e-5; the config.json of a folder has the
// correct value.
// clang-format off
constexpr Preset kPresets[] = {
    // name           vocabulary hidden inner layers heads kv head   type     tied   eps   positions
    {{"qwen_2.5_0.5b", 151936, 896, 4864, 24, 14, 2, 64}, "qwen2", true, 1e-6, 32768},
    {{"qwen_2.5_1.5b", 151936, 1536, 8960, 28, 12, 2, 128}, "qwen2", true, 1e-6, 131072},
    {{"qwen_2.5_3b", 151936, 2048, 11008, 36, 16, 2, 128}, "qwen2", true, 1e-6, 32768},
    {{"qwen_2.5_7b", 152064, 3584, 18944, 28, 28, 4, 128}, "qwen2", false, 1e-6, 131072},
    {{"qwen_2.5_14b", 152064, 5120, 13824, 48, 40, 8, 128}, "qwen2", false, 1e-5, 131072},
    {{"qwen_2.5_32b", 152064, 5120, 27648, 64, 40, 8, 128}, "qwen2", false, 1e-5, 131072},
    {{"qwen_2.5_72b", 152064, 8192, 29568, 80, 64, 8, 128}, "qwen2", false, 1e-5, 131072},
    {{"qwen_3_0.6b", 151936, 1024, 3072, 28, 16, 8, 128}, "qwen3", true, 1e-6, 40960},
    {{"qwen_3_1.7b", 151936, 2048, 6144, 28, 16, 8, 128}, "qwen3", true, 1e-6, 40960},
    {{"qwen_3_4b", 151936, 2560, 9728, 36, 32, 8, 128}, "qwen3", true, 1e-6, 40960},
    {{"qwen_3_8b", 151936, 4096, 12288, 36, 32, 8, 128}, "qwen3", false, 1e-6, 40960},
    {{"qwen_3_14b", 151936, 5120, 17408, 40, 40, 8, 128}, "qwen3", false, 1e-6, 40960},
    {{"qwen_3_32b", 151936, 5120, 25600, 64, 64, 8, 128}, "qwen3", false, 1e-6, 40960},
};
// clang-format on

}  // namespace

void QwenOptions::visit(OptionVisitor& v) {
  v("preset", preset, "sizes of a published model; explicit keys take precedence",
    one_of(preset_names(kPresets)));
  v("model_type", model_type,
    "qwen2 (also 2.5): biases on q, k and v whatever attention_bias says; qwen3: queries and keys "
    "are normed",
    one_of({"qwen2", "qwen3"}));
  DecoderOptions::visit(v);
  v("use_sliding_window", use_sliding_window, "some layers attend only to a window");
  v("max_window_layers", max_window_layers,
    "index of the first layer that attends only to a window", at_least(0));
  windows.visit(v);
}

QwenOptions defaults_for(const Config& node) {
  QwenOptions options;
  options.max_position_embeddings = 32768;
  options.windows.sliding_window = 4096;
  const Preset* preset = chosen_preset(node, kPresets);
  if (preset == nullptr) return options;
  options.preset = preset->name;
  set_sizes(*preset, options);
  options.model_type = preset->model_type;
  options.tie_word_embeddings = preset->tied;
  options.rms_norm_eps = preset->rms_norm_eps;
  options.max_position_embeddings = preset->max_positions;
  options.rope_theta = 1e6;
  return options;
}

DecoderSpec spec_of(const QwenOptions& options, const std::string& path) {
  DecoderSpec spec = decoder_spec(options, all_rope_types(), path);
  spec.qk_norm = options.model_type == "qwen3";
  if (options.model_type == "qwen2") spec.qkv_bias = true;
  std::vector<bool> local(static_cast<size_t>(options.num_hidden_layers), false);
  const auto first = static_cast<size_t>(options.max_window_layers);
  WindowOptions windows = options.windows;
  if (!options.use_sliding_window) windows.sliding_window.reset();
  for (size_t i = first; windows.sliding_window && i < local.size(); ++i) local[i] = true;
  set_windows(windows, local, path, spec);
  return spec;
}

}  // namespace s2s::qwen

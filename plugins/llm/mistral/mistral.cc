// Mistral 7B, versions 0.1 (with a window) to 0.3, in Hugging Face's format.
// Source: Jiang et al. 2023, arXiv 2310.06825; transformers MistralConfig.

#include "s2s/nn/decoder_family.h"
#include "s2s/plugin.h"

namespace s2s::mistral {
namespace {

struct Preset : DecoderSizes {
  double rope_theta;
  int64_t window;  // 0: none
};
// clang-format off
// Values of the published config.json files.
constexpr Preset kPresets[] = {
    // name               vocabulary hidden inner layers heads kv head  theta window
    {{"mistral_7b_v0.1", 32000, 4096, 14336, 32, 32, 8, 128}, 1e4, 4096},
    {{"mistral_7b_v0.2", 32000, 4096, 14336, 32, 32, 8, 128}, 1e6, 0},
    {{"mistral_7b_v0.3", 32768, 4096, 14336, 32, 32, 8, 128}, 1e6, 0},
};
// clang-format on

struct MistralOptions : DecoderOptions {
  std::string preset = "none";
  WindowOptions windows;
  void visit(OptionVisitor& v) {
    v("preset", preset, "sizes of a published model; explicit keys take precedence",
      one_of(preset_names(kPresets)));
    DecoderOptions::visit(v);
    windows.visit(v);
  }
};

struct Mistral : DecoderFamily {
  using Options = MistralOptions;
  static constexpr const char* kName = "mistral";
  static constexpr const char* kSummary =
      "Mistral 7B decoders: Llama's layers, with a window in each in version 0.1";
  static constexpr const char* kTiny = R"({"vocab_size": 50, "hidden_size": 32,
    "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "sliding_window": 3})";
  static std::vector<PublishedWeights> weights() {
    return {{"mistralai/Mistral-7B-v0.3", "Apache-2.0"}};
  }

  static MistralOptions defaults_for(const Config& node) {
    MistralOptions options;
    const Preset* preset = chosen_preset(node, kPresets);
    if (preset == nullptr) return options;
    options.preset = preset->name;
    set_sizes(*preset, options);
    options.rms_norm_eps = 1e-5;
    options.rope_theta = preset->rope_theta;
    options.max_position_embeddings = 32768;
    if (preset->window > 0) options.windows.sliding_window = preset->window;
    return options;
  }
  static DecoderSpec spec_of(const MistralOptions& options, const std::string& path) {
    DecoderSpec spec = decoder_spec(options, all_rope_types(), path);
    set_windows(options.windows, path, spec);
    return spec;
  }
  /// The class has no biases, and does not read layer_types.
  static Config from_hf(const Config& foreign) {
    ConfigRules rules{{"mistral"}, all_rope_types()};
    rules.options = {"sliding_window"};
    rules.harmless = {{"attention_bias", {"false"}}, {"mlp_bias", {"false"}}};
    rules.defaults = {{"num_key_value_heads", "8"},
                      {"sliding_window", "4096"},
                      {"max_position_embeddings", "131072"}};
    return decoder_from_hf(foreign, rules);
  }
  static Config to_hf(const MistralOptions& options, const DecoderSpec& spec) {
    if (has_mixed_windows(spec) || spec.qkv_bias || spec.mlp_bias)
      return {};  // no class of transformers has it
    MistralOptions full = options;
    full.head_dim = spec.shape.head_dim;
    full.num_key_value_heads = spec.shape.num_key_value_heads;
    Config foreign = decoder_to_hf(write_options(full), "mistral", "MistralForCausalLM");
    for (const char* key : {"layer_types", "attention_bias", "mlp_bias"}) foreign.erase(key);
    if (spec.attention.window == 0) foreign["sliding_window"] = Config();  // its default is 4096
    return foreign;
  }
};

}  // namespace
}  // namespace s2s::mistral

S2S_PLUGIN("mistral", "0.1.0", "Apache-2.0", "llm:mistral") {
  registrar.add(s2s::decoder_component<s2s::mistral::Mistral>());
}

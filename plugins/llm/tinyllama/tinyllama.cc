// TinyLlama 1.1B: Llama 2's architecture with grouped queries (Zhang et al. 2024, arXiv
// 2401.02385). This plugin adds sizes, sharding plan and config.json rules to core's decoder.

#include "s2s/nn/decoder_family.h"
#include "s2s/plugin.h"

namespace s2s::tinyllama {
namespace {

const RopeTypes& rope_types() {
  static const RopeTypes types = {{"default", RotaryScaling::kNone},
                                  {"linear", RotaryScaling::kLinear}};
  return types;
}

// Values of the published config.json, checked against litgpt's table. "tiny" trains in seconds on
// any machine.
// clang-format off
constexpr DecoderSizes kPresets[] = {
    // name            vocabulary hidden inner layers heads kv head
    {"tinyllama_1.1b", 32000, 2048, 5632, 22, 32, 4, 64},
    {"tiny", 512, 64, 176, 2, 4, 2, 16},
};
// clang-format on

struct TinyLlamaOptions : DecoderOptions {
  std::string preset = kPresets[0].name;
  void visit(OptionVisitor& v) {
    v("preset", preset, "preset sizes; explicit keys take precedence",
      one_of({kPresets[0].name, kPresets[1].name}));
    DecoderOptions::visit(v);
  }
};

struct TinyLlama : DecoderFamily {
  using Options = TinyLlamaOptions;
  static constexpr const char* kName = "tinyllama";
  static constexpr const char* kSummary =
      "TinyLlama 1.1B decoder (Llama's layout, 22 layers, 4 key/value heads)";
  static constexpr const char* kTiny = R"({"preset": "tiny"})";
  static std::vector<PublishedWeights> weights() {
    return {{"TinyLlama/TinyLlama_v1.1", "Apache-2.0"}};
  }

  static TinyLlamaOptions defaults_for(const Config& node) {
    TinyLlamaOptions options;
    const DecoderSizes* preset = chosen_preset(node, kPresets);
    if (preset == nullptr) preset = kPresets;
    options.preset = preset->name;
    set_sizes(*preset, options);
    options.head_dim.reset();  // derived from hidden_size
    options.rms_norm_eps = 1e-5;
    return options;
  }
  static DecoderSpec spec_of(const TinyLlamaOptions& options, const std::string& path) {
    return decoder_spec(options, rope_types(), path);
  }
  static Config from_hf(const Config& foreign) {
    return decoder_from_hf(foreign, {{"llama"}, rope_types()});
  }
  static Config to_hf(const TinyLlamaOptions& options, const DecoderSpec&) {
    return decoder_to_hf(write_options(options), "llama", "LlamaForCausalLM");
  }
};

}  // namespace
}  // namespace s2s::tinyllama

S2S_PLUGIN("tinyllama", "0.1.0", "Apache-2.0", "llm:tinyllama") {
  registrar.add(s2s::decoder_component<s2s::tinyllama::TinyLlama>());
}

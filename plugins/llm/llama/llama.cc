// Llama 1, 2, 3, 3.1 and 3.2 in Hugging Face's format.

#include "s2s/nn/decoder_family.h"
#include "s2s/plugin.h"

namespace s2s::llama {
namespace {

struct Preset : DecoderSizes {
  double rope_theta, rope_factor;
  int64_t max_positions;
  bool tied;
};
// Values of the published config.json files, checked against the tables of torchtune and litgpt.
// clang-format off
constexpr Preset kPresets[] = {
    // name          vocabulary hidden  inner layers heads kv head  theta factor positions tied
    {{"llama_2_7b", 32000, 4096, 11008, 32, 32, 32, 128}, 1e4, 0, 4096, false},
    {{"llama_2_13b", 32000, 5120, 13824, 40, 40, 40, 128}, 1e4, 0, 4096, false},
    {{"llama_2_70b", 32000, 8192, 28672, 80, 64, 8, 128}, 1e4, 0, 4096, false},
    {{"llama_3_8b", 128256, 4096, 14336, 32, 32, 8, 128}, 5e5, 0, 8192, false},
    {{"llama_3_70b", 128256, 8192, 28672, 80, 64, 8, 128}, 5e5, 0, 8192, false},
    {{"llama_3.1_8b", 128256, 4096, 14336, 32, 32, 8, 128}, 5e5, 8, 131072, false},
    {{"llama_3.1_70b", 128256, 8192, 28672, 80, 64, 8, 128}, 5e5, 8, 131072, false},
    {{"llama_3.2_1b", 128256, 2048, 8192, 16, 32, 8, 64}, 5e5, 32, 131072, true},
    {{"llama_3.2_3b", 128256, 3072, 8192, 28, 24, 8, 128}, 5e5, 32, 131072, true},
};
// clang-format on

struct LlamaOptions : DecoderOptions {
  std::string preset = "none";
  void visit(OptionVisitor& v) {
    v("preset", preset, "sizes of a published model; explicit keys take precedence",
      one_of(preset_names(kPresets)));
    DecoderOptions::visit(v);
  }
};

struct Llama : DecoderFamily {
  using Options = LlamaOptions;
  static constexpr const char* kName = "llama";
  static constexpr const char* kSummary =
      "Llama 1, 2 and 3 decoders, from Hugging Face folders or from random weights";
  static constexpr const char* kTiny = R"({"vocab_size": 50, "hidden_size": 32,
    "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2})";
  static std::vector<PublishedWeights> weights() {
    return {{"meta-llama/Llama-3.1-8B", "Llama 3.1 Community License"},
            {"meta-llama/Llama-3.2-1B", "Llama 3.2 Community License"}};
  }

  static LlamaOptions defaults_for(const Config& node) {
    LlamaOptions options;
    const Preset* preset = chosen_preset(node, kPresets);
    if (preset == nullptr) return options;
    options.preset = preset->name;
    set_sizes(*preset, options);
    options.rms_norm_eps = 1e-5;
    options.rope_theta = preset->rope_theta;
    options.tie_word_embeddings = preset->tied;
    options.max_position_embeddings = preset->max_positions;
    if (preset->rope_factor == 0) return options;
    options.rope_scaling.rope_type = "llama3";
    options.rope_scaling.factor = preset->rope_factor;
    return options;
  }
  static DecoderSpec spec_of(const LlamaOptions& options, const std::string& path) {
    return decoder_spec(options, all_rope_types(), path);
  }
  /// Source: NeMo collections/common/prompts/llama.py.
  static std::vector<PromptFormat> prompt_formats() {
    PromptFormat llama2{
        "llama2",
        {{"user", "[INST] ", " [/INST]", true, false}, {"assistant", "", " ", false, true}}};
    llama2.system_before = "<<SYS>>\n";
    llama2.system_after = "\n<</SYS>>\n\n";
    const auto turn = [](const std::string& role) {
      return RoleTemplate{role, "<|start_header_id|>" + role + "<|end_header_id|>\n\n",
                          "<|eot_id|>"};
    };
    PromptFormat llama3{"llama3", {turn("system"), turn("user"), turn("assistant")}};
    llama3.preamble = "<|begin_of_text|>";
    llama3.answer_begin = turn("assistant").before;
    return {llama2, llama3};
  }
  static Config from_hf(const Config& foreign) {
    return decoder_from_hf(foreign, {{"llama"}, all_rope_types()});
  }
  static Config to_hf(const LlamaOptions& options, const DecoderSpec&) {
    return decoder_to_hf(write_options(options), "llama", "LlamaForCausalLM");
  }
};

}  // namespace
}  // namespace s2s::llama

S2S_PLUGIN("llama", "0.1.0", "Apache-2.0", "llm:llama") {
  registrar.add(s2s::decoder_component<s2s::llama::Llama>());
}

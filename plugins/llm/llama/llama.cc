// Llama 1, 2, 3, 3.1 and 3.2 as Hugging Face stores them: a family is its options, its facts, its
// plan and its checkpoint names.

#include "plan.h"
#include "s2s/decoder_options.h"
#include "s2s/plugin.h"

namespace s2s::llama {
namespace {

struct LlamaOptions : DecoderOptions {
  std::string preset = "none";
  void visit(OptionVisitor& v) {
    v("preset", preset, "sizes of a published model; keys that are written win",
      one_of(
          {"none", "llama_2_7b", "llama_3.1_8b", "llama_3.1_70b", "llama_3.2_1b", "llama_3.2_3b"}));
    DecoderOptions::visit(v);
  }
};

struct Preset {
  const char* name;
  int64_t vocab_size, hidden_size, intermediate_size, layers, heads, kv_heads;
  double rope_theta, rope_factor;
  bool tied;
};
// clang-format off
constexpr Preset kPresets[] = {
    // name          vocabulary hidden  inner layers heads kv  theta  factor tied
    {"llama_2_7b",    32000,    4096,  11008, 32,    32,   32, 1e4,   0,     false},
    {"llama_3.1_8b",  128256,   4096,  14336, 32,    32,   8,  5e5,   8,     false},
    {"llama_3.1_70b", 128256,   8192,  28672, 80,    64,   8,  5e5,   8,     false},
    {"llama_3.2_1b",  128256,   2048,  8192,  16,    32,   8,  5e5,   32,    true },
    {"llama_3.2_3b",  128256,   3072,  8192,  28,    24,   8,  5e5,   32,    true },
};
// clang-format on

/// Defaults before the config's own keys: those of the preset that it names.
LlamaOptions defaults_for(const Config& node) {
  LlamaOptions options;
  const Config* name = node.find("preset");
  for (const Preset& preset : kPresets) {
    if (name == nullptr || name->text() != preset.name) continue;
    options.vocab_size = preset.vocab_size;
    options.hidden_size = preset.hidden_size;
    options.intermediate_size = preset.intermediate_size;
    options.num_hidden_layers = preset.layers;
    options.num_attention_heads = preset.heads;
    options.num_key_value_heads = preset.kv_heads;
    options.rms_norm_eps = 1e-5;
    options.rope_theta = preset.rope_theta;
    options.tie_word_embeddings = preset.tied;
    options.max_position_embeddings = preset.rope_factor > 0 ? 131072 : 4096;
    if (preset.rope_factor > 0) {
      options.rope_scaling.rope_type = "llama3";
      options.rope_scaling.factor = preset.rope_factor;
    }
    if (preset.name == std::string("llama_3.2_3b")) options.head_dim = 128;
  }
  return options;
}

class Llama : public Decoder {
 public:
  using Decoder::Decoder;
  ShardPlan configure_model(const MeshShape&) const override {
    return plan_with(tensor_rows(), unit_rows());
  }
};

Config translate(const Config& foreign) {
  return translate_decoder_config(foreign, {{"llama"}, all_rope_types()});
}

std::unique_ptr<Backbone> create(const Config& options, const BuildContext& context) {
  const Config node = with_folder_config(options, context, translate);
  LlamaOptions read = defaults_for(node);
  Findings findings;
  OptionReader(node, context.path, findings).read(read);
  findings.throw_if_any();
  DecoderFacts facts = decoder_facts(read, all_rope_types(), context.path);
  facts.foreign_config = decoder_to_foreign(write_options(read), "llama", "LlamaForCausalLM");
  return std::make_unique<Llama>(std::move(facts));
}

Component<Backbone> component() {
  Component<Backbone> entry;
  entry.name = "llama";
  entry.summary = "Llama 2 and 3 decoders, from Hugging Face folders or from random weights";
  entry.create = create;
  entry.options = list_options<LlamaOptions>;
  entry.translate = translate;
  entry.tiny = R"({"vocab_size": 50, "hidden_size": 32, "intermediate_size": 48,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2})";
  return entry;
}

}  // namespace
}  // namespace s2s::llama

S2S_PLUGIN("llama", "0.1.0", "Apache-2.0", "llm:llama") { registrar.add(s2s::llama::component()); }

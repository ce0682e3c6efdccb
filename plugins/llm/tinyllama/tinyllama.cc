// TinyLlama 1.1B: the layout of Llama 2 with grouped queries (Zhang et al. 2024, arXiv 2401.02385).
// The decoder is core's; this plugin adds the sizes, the sharding plan and what it accepts of a
// config.json.

#include "s2s/decoder_options.h"
#include "s2s/plugin.h"

namespace s2s::tinyllama {
namespace {

const RopeTypes& rope_types() {
  static const RopeTypes types = {{"default", RotaryScaling::kNone},
                                  {"linear", RotaryScaling::kLinear}};
  return types;
}

struct TinyLlamaOptions : DecoderOptions {
  std::string preset = "tinyllama_1.1b";
  void visit(OptionVisitor& v) {
    v("preset", preset, "sizes to begin with; keys that are written win",
      one_of({"tinyllama_1.1b", "tiny"}));
    DecoderOptions::visit(v);
  }
};

/// "tiny" trains in seconds on any machine.
TinyLlamaOptions defaults_for(const std::string& preset) {
  TinyLlamaOptions o;
  const bool tiny = preset == "tiny";
  o.preset = preset;
  o.vocab_size = tiny ? 512 : 32000;
  o.hidden_size = tiny ? 64 : 2048;
  o.intermediate_size = tiny ? 176 : 5632;
  o.num_hidden_layers = tiny ? 2 : 22;
  o.num_attention_heads = tiny ? 4 : 32;
  o.num_key_value_heads = tiny ? 2 : 4;
  o.rms_norm_eps = 1e-5;
  return o;
}

constexpr Style kBoundary = Style::kBoundary, kSequence = Style::kSequence;
constexpr Style kColwise = Style::kColwise, kRowwise = Style::kRowwise;
constexpr Layout kFull = Layout::kFull, kSeq = Layout::kSeq, kLast = Layout::kLast;

// clang-format off
std::vector<TensorRow> tensor_rows() {
  return {
      // module                             style      in     out
      {"layers.0",                          kBoundary, kFull, kSeq },
      {"layers.*.input_layernorm",          kSequence, kSeq,  kSeq },
      {"layers.*.self_attn",                kBoundary, kSeq,  kFull},
      {"layers.*.self_attn.q_proj",         kColwise,  kFull, kLast},
      {"layers.*.self_attn.k_proj",         kColwise,  kFull, kLast},
      {"layers.*.self_attn.v_proj",         kColwise,  kFull, kLast},
      {"layers.*.self_attn.o_proj",         kRowwise,  kLast, kSeq },
      {"layers.*.post_attention_layernorm", kSequence, kSeq,  kSeq },
      {"layers.*.mlp",                      kBoundary, kSeq,  kFull},
      {"layers.*.mlp.gate_proj",            kColwise,  kFull, kLast},
      {"layers.*.mlp.up_proj",              kColwise,  kFull, kLast},
      {"layers.*.mlp.down_proj",            kRowwise,  kLast, kSeq },
      {"norm",                              kSequence, kSeq,  kSeq },
  };
}
// clang-format on

class TinyLlama : public Decoder {
 public:
  using Decoder::Decoder;
  ShardPlan configure_model(const MeshShape&) const override {
    return plan_with(tensor_rows(), {{"layers.*"}});
  }
};

Config translate(const Config& foreign) {
  return translate_decoder_config(foreign, {{"llama"}, rope_types()});
}

std::unique_ptr<Backbone> create(const Config& options, const BuildContext& context) {
  const Config node = with_folder_config(options, context, translate);
  const Config* preset = node.find("preset");
  TinyLlamaOptions read = defaults_for(preset == nullptr ? "tinyllama_1.1b" : preset->text());
  Findings findings;
  OptionReader(node, context.path, findings).read(read);
  findings.throw_if_any();
  DecoderFacts facts = decoder_facts(read, rope_types(), context.path);
  facts.foreign_config = decoder_to_foreign(write_options(read), "llama", "LlamaForCausalLM");
  return std::make_unique<TinyLlama>(std::move(facts));
}

OptionTable options() {
  TinyLlamaOptions defaults = defaults_for("tinyllama_1.1b");
  return list_options(
      [](OptionVisitor& v, void* object) { static_cast<TinyLlamaOptions*>(object)->visit(v); },
      &defaults);
}

Component<Backbone> component() {
  Component<Backbone> entry;
  entry.name = "tinyllama";
  entry.summary = "TinyLlama 1.1B decoder (Llama's layout, 22 layers, 4 key/value heads)";
  entry.create = create;
  entry.options = options;
  entry.translate = translate;
  entry.tiny = R"({"preset": "tiny"})";
  return entry;
}

}  // namespace
}  // namespace s2s::tinyllama

S2S_PLUGIN("tinyllama", "0.1.0", "Apache-2.0", "llm:tinyllama") {
  registrar.add(s2s::tinyllama::component());
}

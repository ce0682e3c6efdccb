// Gemma 1 and 2, and the text model of Gemma 3, as Hugging Face stores them: a family is its
// options, its facts, its plan and its checkpoint names.

#include "options.h"
#include "plan.h"
#include "s2s/plugin.h"

namespace s2s::gemma {
namespace {

class Gemma : public Decoder {
 public:
  using Decoder::Decoder;
  ShardPlan configure_model(const MeshShape&) const override {
    return plan_with(tensor_rows(facts()), {{"layers.*"}});
  }
};

std::unique_ptr<Backbone> create(const Config& options, const BuildContext& context) {
  const Config node = with_folder_config(options, context, translate);
  GemmaOptions read = defaults_for(node);
  Findings findings;
  OptionReader(node, context.path, findings).read(read);
  findings.throw_if_any();
  DecoderFacts facts = facts_of(read, context.path);
  facts.foreign_config = to_foreign(read, facts);
  return std::make_unique<Gemma>(std::move(facts));
}

OptionTable options() {
  GemmaOptions defaults = defaults_for({});
  return list_options(
      [](OptionVisitor& v, void* object) { static_cast<GemmaOptions*>(object)->visit(v); },
      &defaults);
}

Component<Backbone> component() {
  Component<Backbone> entry;
  entry.name = "gemma";
  entry.summary = "Gemma 1, 2 and 3 (text) decoders, from Hugging Face folders or random weights";
  entry.create = create;
  entry.options = options;
  entry.translate = translate;
  entry.tiny = R"({"vocab_size": 50, "hidden_size": 32, "intermediate_size": 48,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 16, "sliding_window": 3, "sliding_window_pattern": 2})";
  return entry;
}

}  // namespace
}  // namespace s2s::gemma

S2S_PLUGIN("gemma", "0.1.0", "Apache-2.0", "llm:gemma") { registrar.add(s2s::gemma::component()); }

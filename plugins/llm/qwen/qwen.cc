// Qwen 2, 2.5 and 3 (dense) as Hugging Face stores them: a family is its options, its facts, its
// plan and its checkpoint names.

#include "options.h"
#include "plan.h"
#include "s2s/plugin.h"

namespace s2s::qwen {
namespace {

class Qwen : public Decoder {
 public:
  using Decoder::Decoder;
  ShardPlan configure_model(const MeshShape&) const override {
    return plan_with(tensor_rows(facts()), {{"layers.*"}});
  }
};

std::unique_ptr<Backbone> create(const Config& options, const BuildContext& context) {
  const Config node = with_folder_config(options, context, translate);
  QwenOptions read = defaults_for(node);
  Findings findings;
  OptionReader(node, context.path, findings).read(read);
  findings.throw_if_any();
  DecoderFacts facts = facts_of(read, context.path);
  facts.foreign_config = to_foreign(read, facts);
  return std::make_unique<Qwen>(std::move(facts));
}

OptionTable options() {
  QwenOptions defaults = defaults_for({});
  return list_options(
      [](OptionVisitor& v, void* object) { static_cast<QwenOptions*>(object)->visit(v); },
      &defaults);
}

Component<Backbone> component() {
  Component<Backbone> entry;
  entry.name = "qwen";
  entry.summary = "Qwen 2, 2.5 and 3 decoders, from Hugging Face folders or from random weights";
  entry.create = create;
  entry.options = options;
  entry.translate = translate;
  entry.tiny = R"({"vocab_size": 50, "hidden_size": 32, "intermediate_size": 48,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16})";
  return entry;
}

}  // namespace
}  // namespace s2s::qwen

S2S_PLUGIN("qwen", "0.1.0", "Apache-2.0", "llm:qwen") { registrar.add(s2s::qwen::component()); }

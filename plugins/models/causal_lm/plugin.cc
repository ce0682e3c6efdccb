#include "s2s/plugin.h"

#include "causal_lm.h"
#include "s2s/model_parts.h"

namespace s2s::causal_lm {
namespace {

std::unique_ptr<Model> create(const Config& model, const ModelContext& context) {
  auto options = read_options<CausalLmOptions>(model, context.path);
  auto llm = build_part<Backbone>(options.llm, model, "llm", context);
  check_vocabulary(context.tokenizer, llm->shape().vocab_size);
  return std::make_unique<CausalLm>(std::move(options), std::move(llm), context.tokenizer);
}

/// Converts the options of a reference file: {llm_config, ...}.
Config translate(const Config& foreign) {
  Config out = Config::map();
  out["llm"] = translate_llm_config(required_key(foreign, "llm_config", "options"));
  return out;
}

Component<Model> component() {
  return {.name = "causal_lm",
          .summary = "language model on text: next-token prediction, packed or padded documents",
          .create = create,
          .options = list_options<CausalLmOptions>,
          .translate = translate,
          .data = "text"};
}

}  // namespace
}  // namespace s2s::causal_lm

S2S_PLUGIN("causal_lm", "0.1.0", "Apache-2.0", "model:causal_lm") {
  registrar.add(s2s::causal_lm::component());
}

#include "s2s/plugin.h"

#include "model.h"
#include "s2s/model_parts.h"

namespace PLUGIN_NAME {
namespace {

std::unique_ptr<s2s::Model> create(const s2s::Config& model, const s2s::ModelContext& context) {
  auto options = s2s::read_options<Options>(model, context.path);
  auto encoder = s2s::build_part<s2s::Encoder>(options.encoder, model, "encoder", context);
  return std::make_unique<FrameModel>(options, std::move(encoder), context.tokenizer);
}

s2s::Component<s2s::Model> component() {
  return {.name = "COMPONENT_NAME",
          .summary = "an encoder and one linear layer: the agent's text from the user's audio",
          .create = create,
          .options = s2s::list_options<Options>};
}

}  // namespace
}  // namespace PLUGIN_NAME

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "model:COMPONENT_NAME") {
  registrar.add(PLUGIN_NAME::component());
}

#include "s2s/plugin.h"

#include "duplex_model.h"

namespace s2s::eartts {
namespace {

Component<Model> component() {
  return {.name = "eartts",
          .summary = "EAR-TTS's speech model: masked books of a codec and a mixture of Gaussians",
          .create = create_eartts,
          .options = list_options<EarTtsOptions>,
          .translate = translate_eartts};
}

Component<Model> duplex_component() {
  return {.name = "duplex_eartts",
          .summary = "EAR-TTS: speaks an agent's text channel with a given voice",
          .create = create_duplex_eartts,
          .options = list_options<DuplexEarTtsOptions>,
          .translate = translate_duplex_eartts,
          .foreign = foreign_classes};
}

}  // namespace
}  // namespace s2s::eartts

S2S_PLUGIN("eartts", "0.1.0", "Apache-2.0", "model:eartts\nmodel:duplex_eartts") {
  registrar.add(s2s::eartts::component());
  registrar.add(s2s::eartts::duplex_component());
}

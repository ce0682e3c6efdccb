#include "s2s/plugin.h"

#include "eartts_model.h"

namespace s2s::eartts {
namespace {

Component<Model> component() {
  return {.name = "eartts",
          .summary = "EAR-TTS's speech model: masked books of a codec and a mixture of Gaussians",
          .create = create_eartts,
          .options = list_options<EarTtsOptions>,
          .translate = translate_eartts};
}

}  // namespace
}  // namespace s2s::eartts

S2S_PLUGIN("eartts", "0.1.0", "Apache-2.0", "model:eartts") {
  registrar.add(s2s::eartts::component());
}

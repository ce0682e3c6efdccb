#include "s2s/plugin.h"

#include "scorer.h"

namespace {

s2s::Component<s2s::Scorer> component() {
  return {.name = "COMPONENT_NAME",
          .summary = "transcribes answers with a program of yours",
          .create = PLUGIN_NAME::create,
          .options = s2s::list_options<PLUGIN_NAME::Options>};
}

}  // namespace

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "scorer:COMPONENT_NAME") {
  registrar.add(component());
}

#include "s2s/plugin.h"

#include "source.h"

namespace {

s2s::Component<s2s::DataSource> component() {
  return {.name = "COMPONENT_NAME",
          .summary = "dialogues from a list in a text file",
          .create = PLUGIN_NAME::create,
          .options = s2s::list_options<PLUGIN_NAME::Options>};
}

}  // namespace

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "data:COMPONENT_NAME") {
  registrar.add(component());
}

#include "s2s/plugin.h"

#include "optimizer.h"

namespace {

s2s::Component<s2s::Optimizer> component() {
  return {.name = "COMPONENT_NAME",
          .summary = "the gradient over the root of its mean square",
          .create = PLUGIN_NAME::create,
          .options = s2s::list_options<PLUGIN_NAME::Options>};
}

}  // namespace

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "optimizer:COMPONENT_NAME") {
  registrar.add(component());
}

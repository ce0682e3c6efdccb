#include "s2s/plugin.h"

#include "encoder.h"

namespace {

s2s::Component<s2s::Encoder> component() {
  return {.name = "COMPONENT_NAME",
          .summary = "log-mel features and a causal convolution, 12.5 frames/s; supports streaming",
          .create = PLUGIN_NAME::create,
          .options = s2s::list_options<PLUGIN_NAME::Options>,
          .tiny = PLUGIN_NAME::kTiny};
}

}  // namespace

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "encoder:COMPONENT_NAME") {
  registrar.add(component());
}

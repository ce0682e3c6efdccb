#include "s2s/plugin.h"

#include "encoder.h"

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "encoder:COMPONENT_NAME") {
  s2s::Component<s2s::Encoder> component;
  component.name = "COMPONENT_NAME";
  component.summary = "log-mel features and a causal convolution, 12.5 frames/s; streams";
  component.create = PLUGIN_NAME::create;
  component.options = s2s::list_options<PLUGIN_NAME::Options>;
  component.tiny = PLUGIN_NAME::kTiny;
  registrar.add(std::move(component));
}

#include "s2s/plugin.h"

#include "scorer.h"

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "scorer:COMPONENT_NAME") {
  s2s::Component<s2s::Scorer> component;
  component.name = "COMPONENT_NAME";
  component.summary = "your program transcribes the answers' WAV files";
  component.create = PLUGIN_NAME::create;
  component.options = s2s::list_options<PLUGIN_NAME::Options>;
  registrar.add(std::move(component));
}

#include "s2s/plugin.h"

#include "family.h"

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "llm:COMPONENT_NAME") {
  s2s::Component<s2s::Backbone> component;
  component.name = "COMPONENT_NAME";
  component.summary = "a decoder of one's own";
  component.create = PLUGIN_NAME::create;
  component.options = s2s::list_options<PLUGIN_NAME::Options>;
  component.translate = PLUGIN_NAME::translate;
  component.tiny = PLUGIN_NAME::kTiny;
  registrar.add(std::move(component));
}

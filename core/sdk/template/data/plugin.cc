#include "s2s/plugin.h"

#include "source.h"

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "data:COMPONENT_NAME") {
  s2s::Component<s2s::DataSource> component;
  component.name = "COMPONENT_NAME";
  component.summary = "dialogues from a list in a text file";
  component.create = PLUGIN_NAME::create;
  component.options = s2s::list_options<PLUGIN_NAME::Options>;
  registrar.add(std::move(component));
}

#include "s2s/plugin.h"

#include "tokenizer.h"

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "tokenizer:COMPONENT_NAME") {
  s2s::Component<s2s::Tokenizer> component;
  component.name = "COMPONENT_NAME";
  component.summary = "pieces of a text file, and bytes where none fits";
  component.create = PLUGIN_NAME::create;
  component.options = s2s::list_options<PLUGIN_NAME::Options>;
  registrar.add(std::move(component));
}

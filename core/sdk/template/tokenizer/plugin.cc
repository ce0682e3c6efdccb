#include "s2s/plugin.h"

#include "tokenizer.h"

namespace {

s2s::Component<s2s::Tokenizer> component() {
  return {.name = "COMPONENT_NAME",
          .summary = "pieces of a text file, with single bytes as fallback",
          .create = PLUGIN_NAME::create,
          .options = s2s::list_options<PLUGIN_NAME::Options>};
}

}  // namespace

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "tokenizer:COMPONENT_NAME") {
  registrar.add(component());
}

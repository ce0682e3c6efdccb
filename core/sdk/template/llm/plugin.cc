#include "s2s/plugin.h"

#include "family.h"

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "llm:COMPONENT_NAME") {
  registrar.add(s2s::decoder_component<PLUGIN_NAME::Family>());
}

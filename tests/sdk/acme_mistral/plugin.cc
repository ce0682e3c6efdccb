#include "s2s/plugin.h"

#include "mistral.h"

S2S_PLUGIN("acme_mistral", "0.2.0", "Apache-2.0", "llm:acme.mistral") {
  registrar.add(s2s::decoder_component<acme_mistral::Mistral>());
}

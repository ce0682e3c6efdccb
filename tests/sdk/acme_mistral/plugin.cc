#include "s2s/plugin.h"

#include "mistral.h"

S2S_PLUGIN("acme_mistral", "0.2.0", "Apache-2.0", "llm:acme.mistral") {
  s2s::Component<s2s::Backbone> component;
  component.name = "acme.mistral";
  component.summary = "Mistral's decoder: every layer sees the newest positions only";
  component.create = acme_mistral::create;
  component.options = s2s::list_options<acme_mistral::Options>;
  component.translate = acme_mistral::translate;
  component.tiny = acme_mistral::kTiny;
  registrar.add(std::move(component));
}

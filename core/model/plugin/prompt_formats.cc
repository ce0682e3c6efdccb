#include "s2s/data/prompt_format.h"
#include "s2s/kinds/backbone.h"
#include "s2s/registry.h"

namespace s2s {

std::vector<PromptFormat> known_prompt_formats(const Registries& registries) {
  std::vector<PromptFormat> all;
  for (const std::string& name : registries.names<Backbone>()) {
    try {
      const auto formats = registries.get<Backbone>(name).prompt_formats;
      if (formats == nullptr) continue;
      for (PromptFormat& format : formats()) all.push_back(std::move(format));
    } catch (const Error&) {  // whoever asks for this model gets the message
    }
  }
  return all;
}

}  // namespace s2s

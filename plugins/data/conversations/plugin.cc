#include "s2s/plugin.h"

#include "s2s/data/conversation_source.h"
#include "s2s/kinds/backbone.h"

namespace {

using s2s::Component;
using s2s::DataSource;

std::unique_ptr<DataSource> create(const s2s::Config& block, const s2s::DataContext& context) {
  return s2s::open_conversation_source(block, s2s::known_prompt_formats(*context.registries),
                                       context);
}

Component<DataSource> component() {
  return {.name = "conversations",
          .summary = "conversations of audio and text turns, for models that answer with text",
          .create = create,
          .options = s2s::list_conversation_source_options};
}

}  // namespace

S2S_PLUGIN("conversations", "0.1.0", "Apache-2.0", "data:conversations") {
  registrar.add(component());
}

#include "s2s/plugin.h"

#include "s2s/data/conversation_source.h"

namespace {

using s2s::Component;
using s2s::DataSource;

Component<DataSource> component() {
  return {.name = "conversations",
          .summary = "conversations of audio and text turns, for models that answer with text",
          .create = s2s::open_conversation_source,
          .options = s2s::list_conversation_source_options};
}

}  // namespace

S2S_PLUGIN("conversations", "0.1.0", "Apache-2.0", "data:conversations") {
  registrar.add(component());
}

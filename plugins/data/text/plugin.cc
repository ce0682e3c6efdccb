#include "s2s/plugin.h"

#include "s2s/data/text_source.h"

namespace {

using s2s::Component;
using s2s::DataSource;

Component<DataSource> component() {
  return {.name = "text",
          .summary = "JSONL text: documents, prompts with responses, chats by Jinja templates",
          .create = s2s::open_text_source,
          .options = s2s::list_text_source_options,
          .data_block = [] { return s2s::OptionTable(); }};
}

}  // namespace

S2S_PLUGIN("text", "0.1.0", "Apache-2.0", "data:text") { registrar.add(component()); }

#include "s2s/plugin.h"

#include "mixed_source.h"

namespace {

using s2s::Component;
using s2s::Config;
using s2s::DataContext;
using s2s::DataSource;
using s2s::audio_and_text::MixedOptions;
using s2s::audio_and_text::MixedSource;

std::unique_ptr<DataSource> create(const Config& block, const DataContext& context) {
  return std::make_unique<MixedSource>(s2s::read_options<MixedOptions>(block, context.path),
                                       context);
}

Component<DataSource> component() {
  return {.name = "audio_and_text",
          .summary = "audio data and text data in one run, for models that learn from both",
          .create = create,
          .options = s2s::list_options<MixedOptions>};
}

}  // namespace

S2S_PLUGIN("audio_and_text", "0.1.0", "Apache-2.0", "data:audio_and_text") {
  registrar.add(component());
}

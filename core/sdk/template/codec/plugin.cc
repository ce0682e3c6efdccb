#include "codec.h"

namespace {

s2s::Component<s2s::Codec> component() {
  return {.name = "COMPONENT_NAME",
          .summary = "loudness of frequency bands, 12.5 frames/s; decodes to a whisper",
          .create = PLUGIN_NAME::create,
          .options = s2s::list_options<PLUGIN_NAME::Options>,
          .tiny = PLUGIN_NAME::kTiny};
}

}  // namespace

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "codec:COMPONENT_NAME") {
  registrar.add(component());
}

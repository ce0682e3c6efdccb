#include "codec.h"

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "codec:COMPONENT_NAME") {
  s2s::Component<s2s::Codec> component;
  component.name = "COMPONENT_NAME";
  component.summary = "loudness of frequency bands, 12.5 frames/s; spoken back as a whisper";
  component.create = PLUGIN_NAME::create;
  component.options = s2s::list_options<PLUGIN_NAME::Options>;
  component.tiny = PLUGIN_NAME::kTiny;
  registrar.add(std::move(component));
}

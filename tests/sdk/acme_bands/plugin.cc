#include "s2s/plugin.h"

#include "bands.h"

S2S_PLUGIN("acme_bands", "0.1.0", "Apache-2.0", "codec:acme.bands") {
  s2s::Component<s2s::Codec> component;
  component.name = "acme.bands";
  component.summary = "loudness of frequency bands, 12.5 frames/s; spoken back as a whisper";
  component.create = acme_bands::create;
  component.options = s2s::list_options<acme_bands::Options>;
  component.tiny = acme_bands::kTiny;
  registrar.add(std::move(component));
}

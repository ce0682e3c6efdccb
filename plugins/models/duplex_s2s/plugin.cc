#include "s2s/plugin.h"

#include "build_parts.h"
#include "duplex_model.h"

namespace {

using s2s::duplex::DuplexModel;
using s2s::duplex::DuplexOptions;

std::unique_ptr<s2s::SpeechModel> create(const s2s::Config& model,
                                         const s2s::ModelContext& context) {
  auto options = s2s::read_options<DuplexOptions>(model, context.path);
  s2s::duplex::DuplexParts parts = s2s::duplex::build_parts(options, model, context);
  return std::make_unique<DuplexModel>(std::move(options), std::move(parts));
}

s2s::Component<s2s::SpeechModel> component() {
  return {.name = "duplex_s2s",
          .summary = "listens and speaks at once: one backbone, a text head and a flat audio head",
          .create = create,
          .options = s2s::list_options<DuplexOptions>,
          .translate = s2s::duplex::translate_nemo};
}

}  // namespace

S2S_PLUGIN("duplex_s2s", "0.1.0", "Apache-2.0", "model:duplex_s2s") { registrar.add(component()); }

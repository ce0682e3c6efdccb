#include "s2s/plugin.h"

#include "pocketsphinx_scorer.h"

namespace s2s::pocketsphinx {
namespace {

std::unique_ptr<Scorer> create(const Config& config, const ScorerContext& context) {
  return std::make_unique<PocketsphinxScorer>(
      read_options<PocketsphinxOptions>(config, context.path));
}

Component<Scorer> component() {
  return {.name = "pocketsphinx",
          .summary = "an independent recognizer with a bigram model of the domain's texts",
          .create = create,
          .options = list_options<PocketsphinxOptions>};
}

}  // namespace
}  // namespace s2s::pocketsphinx

S2S_PLUGIN("pocketsphinx", "0.1.0", "Apache-2.0", "scorer:pocketsphinx") {
  registrar.add(s2s::pocketsphinx::component());
}

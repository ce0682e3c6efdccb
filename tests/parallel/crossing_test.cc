// All layouts crossed with accumulation, recomputation and offload, of plain models, of adapters on
// a frozen base and of tied heads, against one process (core/docs/guides/parallelism.md shows the
// table).

#include "parallel/crossing.h"

#include <doctest/doctest.h>

#include "parallel/trained_duplex.h"
#include "parallel/trained_models.h"

using namespace s2s;
using namespace s2s::test;

TEST_CASE("layouts crossed with options equal one process: language models") {
  BuiltPlugins plugins;
  load(plugins);
  const TrainedModel llama = families()[0], tied = families()[1], gemma = families()[5];
  check_crossed(plugins.registries(), {llama, tied, with_lora(llama), gemma, with_lora(gemma)},
                "crossed");
}

TEST_CASE("layouts crossed with options equal one process: the duplex model with its encoder") {
  BuiltPlugins plugins;
  load(plugins);
  load_duplex(plugins);
  check_crossed(plugins.registries(),
                {duplex("duplex", false, ""), with_lora(duplex("duplex, tied", true, ""))},
                "crossed_duplex");
}

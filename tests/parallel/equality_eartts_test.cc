// EAR-TTS's models under layouts against one process.

#include <doctest/doctest.h>

#include "parallel/equality.h"
#include "plugins/eartts/eartts_fixture.h"

using namespace s2s;
using namespace s2s::test;

namespace {

/// The posterior of the mixture is an exponential of squared distances, which magnifies rounding.
constexpr double kTolerance = 2e-4;

TrainedModel eartts() {
  TrainedModel trained;
  trained.name = "eartts";
  trained.make = [](const Registries& registries) { return make_eartts(registries); };
  for (int64_t i = 0; i < 2 * kLayoutSteps; ++i) {
    trained.batches.push_back(eartts_batch(i + 1, 8 + i % 2));
  }
  return trained;
}

TrainedModel duplex_eartts() {
  TrainedModel trained;
  trained.name = "duplex_eartts";
  trained.make = [](const Registries& registries) { return make_duplex_eartts(registries); };
  for (int64_t i = 0; i < 2 * kLayoutSteps; ++i) {
    trained.batches.push_back(speech_batch(i + 1, 7 + i % 2));
  }
  return trained;
}

/// Also what the model loads while it is made: ranks are threads here, and share the registries.
void load_all(BuiltPlugins& plugins) {
  load(plugins);
  plugins.registries().get<Backbone>("gemma3_text");
}

/// Ten steps with fsdp on two ranks, and with a tensor axis of two.
void check_layouts(const Registries& registries, const TrainedModel& trained) {
  Reference reference(registries, trained);
  const std::string tensor = R"("name": "model_parallel", "tensor_parallel_size": 2)";
  for (const RunLayout& run : {layout("fsdp 2", R"("name": "fsdp")", 2, 2),
                               layout("tp 2", tensor + R"(, "sequence_parallel": false)", 2, 1),
                               layout("tp + sp 2", tensor, 2, 1)}) {
    CAPTURE(run.name);
    const LayoutResult result = result_of(registries, trained, run);
    REQUIRE(result.losses.size() == kLayoutSteps);
    CHECK(largest_difference(reference.of(run.global_batches()), result) < kTolerance);
  }
}

}  // namespace

TEST_CASE("EAR-TTS trains ten steps on several ranks with the numbers of one process") {
  BuiltPlugins plugins;
  load_all(plugins);
  plugins.registries().get<Model>("eartts");
  check_layouts(plugins.registries(), eartts());
}

TEST_CASE("EAR-TTS with its codec trains on several ranks with the numbers of one process") {
  BuiltPlugins plugins;
  load_all(plugins);
  plugins.registries().get<Model>("duplex_eartts");
  plugins.registries().get<Codec>("rvq_vae");
  check_layouts(plugins.registries(), duplex_eartts());
}

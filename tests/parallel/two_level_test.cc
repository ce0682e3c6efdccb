// Moshi and CSM under layouts against one process: ten steps each.

#include <doctest/doctest.h>

#include "core/duplex/table_tokenizer.h"
#include "parallel/equality.h"
#include "parallel/trained_models.h"
#include "plugins/two_level/two_level_fixture.h"

using namespace s2s;
using namespace s2s::test;

namespace {

TrainedModel two_level(const std::string& name, const std::string& json) {
  TrainedModel trained;
  trained.name = name;
  trained.make = [json](const Registries& registries) {
    static const TableTokenizer kTokenizer;
    ModelContext context;
    context.path = "model";
    context.tokenizer = &kTokenizer;
    auto model = registries.create<Model>(parse_json(json + "}", "model"), context);
    model->materialize(at::kCPU, at::kFloat, 3);
    return model;
  };
  for (int64_t i = 0; i < 4 * 3 * kLayoutSteps; ++i) {
    trained.batches.push_back(
        two_level_batch({6 + i % 3, 5 + i % 2}, static_cast<uint64_t>(i + 1)));
  }
  return trained;
}

std::vector<RunLayout> layouts() {
  const std::string fsdp = R"("name": "fsdp")";
  const std::string tensor = R"("name": "model_parallel", "tensor_parallel_size": )";
  return {layout("ddp 2", R"("name": "ddp")", 2, 2),
          layout("fsdp 2", fsdp, 2, 2),
          layout("fsdp 2, recomputed", fsdp + R"(, "activation_checkpointing": "full")", 2, 2, 2),
          layout("tp 2", tensor + R"(2, "sequence_parallel": false)", 2, 1),
          layout("tp + sp 2", tensor + "2", 2, 1),
          layout("tp + sp 4", tensor + "4", 4, 1),
          layout("fsdp 2 x tp 2", tensor + "2", 4, 2)};
}

}  // namespace

TEST_CASE("Moshi and CSM under layouts train as one process") {
  BuiltPlugins plugins;
  load(plugins);
  const std::vector<TrainedModel> models = {
      two_level("moshi", kMoshi),
      two_level("csm", kCsm),
      two_level("csm, two tables of codes",
                std::string(kCsm) + R"(, "tie_codebooks_embeddings": false)"),
      with_lora(two_level("moshi", kMoshi), {"q_proj", "k_proj", "o_proj", "fc1", "fc2"}),
      with_lora(two_level("csm", kCsm)),
  };
  for (const TrainedModel& trained : models) {
    trained.make(plugins.registries());  // loads its plugins on one thread
    Reference reference(plugins.registries(), trained);
    for (const RunLayout& layout : layouts()) {
      CAPTURE(trained.name);
      CAPTURE(layout.name);
      CHECK(difference_of(plugins.registries(), trained, layout, reference) < kEqualityTolerance);
    }
  }
}

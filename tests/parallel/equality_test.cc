// Every layout against one process that accumulates as many batches as there are data ranks:
// losses, gradient norms and parameters over ten optimizer steps, fp32
// (core/docs/guides/parallelism.md shows the table). Ranks are threads here.

#include "parallel/equality.h"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "parallel/joined_process.h"
#include "parallel/process_ranks.h"
#include "parallel/trained_models.h"

using namespace s2s;
using namespace s2s::test;

TEST_CASE("layouts of data ranks equal one process") {
  check_all(families(), data_layouts(), "data");
}

TEST_CASE("layouts with a tensor axis equal one process") {
  check_all(families(), tensor_layouts(), "tensor");
}

TEST_CASE("layouts equal one process with adapters on a frozen base") {
  const std::vector<TrainedModel> adapted = {with_lora(families()[0]), with_lora(families()[7])};
  check_all(adapted, data_layouts(), "data_lora");
  check_all(adapted, tensor_layouts(), "tensor_lora");
}

namespace {

/// Of processes: some of each kind.
std::vector<RunLayout> process_layouts(int64_t num_ranks) {
  const std::set<std::string> names = {"ddp 2",
                                       "zero-1 2",
                                       "zero-2 2",
                                       "fsdp 2, accumulating",
                                       "fsdp 2, recomputed",
                                       "tp 2",
                                       "tp + sp 2, recomputed",
                                       "hybrid 2 x 2",
                                       "fsdp 2 x tp 2"};
  std::vector<RunLayout> chosen;
  for (const auto& layouts : {data_layouts(), tensor_layouts()}) {
    for (const RunLayout& layout : layouts) {
      if (layout.num_ranks == num_ranks && names.contains(layout.name)) chosen.push_back(layout);
    }
  }
  return chosen;
}

}  // namespace

TEST_CASE("one rank of the layouts" * doctest::skip()) {
  BuiltPlugins plugins;
  load(plugins);
  JoinedProcess process("gloo");
  for (const TrainedModel& trained : {families()[1], with_lora(families()[7])}) {
    Reference reference(plugins.registries(), trained);
    for (const RunLayout& layout : process_layouts(process.world().size())) {
      CAPTURE(trained.name);
      CAPTURE(layout.name);
      LayoutResult result;
      run_layout(plugins.registries(), trained, layout, &process.world(), result, false);
      CHECK(largest_difference(reference.of(layout.global_batches()), result) < kEqualityTolerance);
    }
  }
}

TEST_CASE("layouts equal one process with processes as ranks") {
  CHECK(run_process_ranks(2, "one rank of the layouts") == std::vector<int>(2));
  CHECK(run_process_ranks(4, "one rank of the layouts") == std::vector<int>(4));
}

TEST_CASE("one rank of a run whose ranks end at different times" * doctest::skip()) {
  BuiltPlugins plugins;
  load(plugins);
  JoinedProcess process("gloo");
  const std::unique_ptr<Model> model = families()[1].make(plugins.registries());
  {
    ProcessContext context;
    context.world = &process.world();
    const auto strategy = plugins.registries().create<ParallelStrategy>(
        parse_json(R"({"name": "fsdp"})", "strategy"), context);
    strategy->attach(*model, model->configure_model(strategy->mesh()));
    process.world().barrier().wait();
    if (process.world().rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    strategy->after_update(*model);  // begins to unshard what is always unsharded
  }
  process.world().barrier().wait();
}

TEST_CASE("a rank that ends early does not end those that are behind") {
  CHECK(run_process_ranks(2, "one rank of a run whose ranks end at different times") ==
        std::vector<int>(2));
}

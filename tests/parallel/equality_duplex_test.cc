// The duplex model with its encoder, and a model of which ranks run different parts, under all
// layouts against one process.

#include <doctest/doctest.h>

#include "parallel/equality.h"
#include "parallel/replicated_run.h"
#include "parallel/trained_duplex.h"

using namespace s2s;
using namespace s2s::test;

namespace {

/// With units, so that it can be split; its layers are used by some batches only.
class UnitModel : public PartlyUsedModel {
 public:
  ShardPlan configure_model(const MeshShape&) const override {
    ShardPlan plan;
    for (const char* name : {"linear", "frozen", "up", "down", "sometimes"}) {
      plan.rows.push_back({name});
      plan.units.push_back({name});
    }
    return plan;
  }
};

TrainedModel partly_used() {
  TrainedModel trained;
  trained.name = "layers that only some ranks run";
  trained.make = [](const Registries&) {
    auto model = std::make_unique<UnitModel>();
    model->materialize(at::kCPU, at::kFloat, 3);
    model->find_block("frozen")->set_requires_grad(false);
    return model;
  };
  FakeData data;
  for (int64_t i = 0; i < 4 * 3 * kLayoutSteps; ++i) trained.batches.push_back(*data.next());
  return trained;
}

}  // namespace

TEST_CASE("the duplex model's layouts equal one process") {
  BuiltPlugins plugins;
  load_duplex(plugins);
  const std::string extras = std::string(", ") + kExtras;
  const std::vector<TrainedModel> models = {
      duplex("duplex", false, ""),
      duplex("duplex, tied, user text", true, extras),
      duplex("duplex, frozen encoder and LLM", false, "", {"perception.encoder", "llm."}),
  };
  check_all(models, data_layouts(), "data_duplex");
  check_all(models, tensor_layouts(), "tensor_duplex");
}

TEST_CASE("layers that only some ranks run do not hang or differ") {
  check_all({partly_used()}, data_layouts(), "data_partly");
}

TEST_CASE("the duplex model trains with parameters gathered in 16 bits") {
  BuiltPlugins plugins;
  load(plugins);
  load_duplex(plugins);
  const TrainedModel trained = duplex("duplex", false, "");
  const RunLayout one{"single", R"({"name": "single"})", 1, 1, 2, "bf16-mixed"};
  const LayoutResult expected = result_of(plugins.registries(), trained, one);
  for (const char* output : {"same", "float32"}) {
    CAPTURE(std::string(output));
    RunLayout two = layout("gathered in 16 bits",
                           R"("name": "fsdp", "param_dtype": "bfloat16", "output_dtype": ")" +
                               std::string(output) + "\"",
                           2, 2);
    two.precision = "bf16-mixed";
    const LayoutResult result = result_of(plugins.registries(), trained, two);
    CHECK(std::abs(expected.losses.back() / result.losses.back() - 1) < 1e-2);
  }
}

// How much memory ranks need to begin: their part and one unit, never the whole model.

#include <doctest/doctest.h>

#include <algorithm>

#include "common/counting_allocator.h"
#include "parallel/started_model.h"

using namespace s2s;
using namespace s2s::test;

namespace {

/// Eight layers, so that the largest unit is small beside the whole. Small enough for all memory to
/// come from the allocator that counts.
Started many_layers() {
  Started started;
  started.name = "llama";
  started.make = [](const Registries& registries) {
    return llama(registries, R"("hidden_size": 64, "num_hidden_layers": 8, "head_dim": 16,
        "vocab_size": 256, "intermediate_size": 128, "num_attention_heads": 4,
        "num_key_value_heads": 2)");
  };
  return started;
}

struct Sizes {
  double all = 0, largest_unit = 0, largest_parameter = 0;
};

Sizes sizes_of(const Registries& registries, const Started& started) {
  std::map<std::string, double> units;
  Sizes sizes;
  for (const NamedTensor& parameter : started.make(registries)->named_parameters()) {
    const auto bytes = static_cast<double>(4 * c10::multiply_integers(parameter.sizes));
    std::string unit = parameter.name.substr(0, parameter.name.find('.'));
    if (unit == "layers") unit = parameter.name.substr(0, parameter.name.find('.', 7));
    sizes.all += bytes;
    sizes.largest_unit = std::max(sizes.largest_unit, units[unit] += bytes);
    sizes.largest_parameter = std::max(sizes.largest_parameter, bytes);
  }
  return sizes;
}

/// The most bytes that all ranks hold at a time while they start, divided by their number.
double peak_of_start(const Registries& registries, const Started& started, const RunLayout& layout,
                     bool whole_first) {
  CountingAllocator& counter = CountingAllocator::instance();
  counter.forget_peak();
  const int64_t before = counter.live_bytes();
  const auto errors = run_thread_ranks(layout.num_ranks, [&](Communicator& world) {
    const auto model = started.make(registries);
    const auto values = described(started, *model);
    if (whole_first) values->fill(model->named_parameters());
    world.barrier().wait();
    const auto strategy = strategy_of(registries, layout, &world);
    attach(*strategy, *model, *values);
    world.barrier().wait();
  });
  for (const std::string& error : errors) CHECK(error == "");
  return static_cast<double>(counter.peak_bytes() - before) / static_cast<double>(layout.num_ranks);
}

}  // namespace

TEST_CASE("no rank holds more than its part and the largest unit while it starts") {
  BuiltPlugins plugins;
  load(plugins);
  const Started started = many_layers();
  const Sizes sizes = sizes_of(plugins.registries(), started);
  REQUIRE(sizes.largest_unit < sizes.all / 6);
  const std::string fsdp = R"("name": "fsdp")";
  const std::string two = R"("name": "model_parallel", "tensor_parallel_size": 2)";
  struct Case {
    RunLayout layout;
    double part;   // of the model, that a rank holds afterwards
    double bound;  // bytes beside it
  };
  const double cut = sizes.largest_unit / 2 + sizes.largest_parameter;
  for (const Case& one : {
           Case{layout("fsdp 2", fsdp, 2, 2), 0.5, sizes.largest_unit},
           Case{layout("fsdp 4", fsdp, 4, 4), 0.25, sizes.largest_unit},
           Case{layout("fsdp 4, offloaded", fsdp + R"(, "offload": "params")", 4, 4), 0.25,
                sizes.largest_unit},
           Case{layout("fsdp 2 x tp 2", two, 4, 2), 0.25, cut},
           Case{layout("tp 2", two, 2, 1), 0.5, cut},
           Case{layout("zero-1 2", fsdp + R"(, "zero_stage": 1, "bucket_cap_mb": 0.25)", 2, 2), 1,
                0},
           Case{layout("ddp 2", R"("name": "ddp", "bucket_cap_mb": 0.25)", 2, 2), 1, 0},
       }) {
    CAPTURE(one.layout.name);
    // Parameters begin at multiples of 32 elements; small tensors say sizes and flags.
    const double bound = 1.05 * (one.part * sizes.all + one.bound);
    const double peak = peak_of_start(plugins.registries(), started, one.layout, false);
    CHECK(peak >= one.part * sizes.all);
    CHECK(peak < bound);
    // As it was when all of the model came first.
    CHECK(peak_of_start(plugins.registries(), started, one.layout, true) > bound);
  }
}

TEST_CASE("a strategy that knows nothing of meta models gets all of one") {
  struct Plain : FakeStrategy {
    void attach(Block& model, const ShardPlan&) override {
      for (const NamedTensor& parameter : model.named_parameters()) {
        CHECK_FALSE(parameter.tensor->is_meta());
        ++num_parameters;
      }
    }
    int num_parameters = 0;
  } strategy;
  FakeModel model;
  const InitialValues values(model, {at::kCPU, at::kFloat, 3});
  for (const NamedTensor& parameter : model.named_parameters()) {
    CHECK(parameter.tensor->is_meta());
    CHECK(parameter.tensor->requires_grad());
  }
  model.to(at::kCPU, at::kDouble);
  strategy.attach_meta(model, {}, values);
  CHECK(strategy.num_parameters == 2);
  FakeModel other;
  other.materialize(at::kCPU, at::kFloat, 3);
  const auto ours = model.named_parameters(), theirs = other.named_parameters();
  for (size_t i = 0; i < ours.size(); ++i) {
    const bool is_double = ours[i].tensor->scalar_type() == at::kDouble;
    CHECK(is_double);
    CHECK(at::equal(*ours[i].tensor, theirs[i].tensor->to(at::kDouble)));
  }
}

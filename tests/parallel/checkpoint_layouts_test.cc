// Runs that go on under another layout: 12 steps, cut at 4 and 8, each leg with other ranks,
// against a run of one process that was never cut.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "checkpoint/checkpoint.h"
#include "common/temporary_folder.h"
#include "parallel/layout_run.h"
#include "parallel/thread_ranks.h"
#include "parallel/trained_models.h"
#include "weights/verify_weights.h"

using namespace s2s;
using namespace s2s::test;

namespace {

constexpr int64_t kBatches = 4;  // of an optimizer step, on all ranks together
constexpr int64_t kLeg = 4;      // steps

/// Everything a rank trains with.
struct Rank {
  Rank(const Registries& registries, const RunLayout& layout, Communicator* communicator)
      : world(communicator), model(tied_llama().make(registries)) {
    ProcessContext context;
    context.world = world;
    context.path = "trainer.strategy";
    strategy =
        registries.create<ParallelStrategy>(parse_json(layout.strategy, "strategy"), context);
    optimizer = registries.create<Optimizer>(
        parse_json(R"({"name": "adamw", "lr": 1e-3, "weight_decay": 0.01, "eps": 1e-4})", "o"),
        context);
    strategy->attach(*model, model->configure_model(strategy->mesh()));
    const std::vector<NamedTensor> shards = strategy->optimizer_parameters(*model);
    optimizer->attach(shards, std::vector<double>(shards.size(), 1.0));
  }
  int64_t number() const { return world == nullptr ? 0 : world->rank(); }

  Communicator* world;
  std::unique_ptr<Model> model;
  std::unique_ptr<ParallelStrategy> strategy;
  std::unique_ptr<Optimizer> optimizer;
};

/// Returns the steps that are done.
int64_t go_on(const std::string& folder, Rank& rank) {
  CheckpointSettings settings;
  settings.world = rank.world;
  const std::string newest = CheckpointFolder(folder, {}, settings).newest();
  if (newest.empty()) return 0;
  const std::vector<LocalShard> parts = rank.strategy->parts(*rank.model);
  load_model(newest, *rank.model, parts);
  rank.strategy->after_update(*rank.model);
  return load_run_state(newest, *rank.optimizer, parts, {rank.strategy->mesh(), rank.number()})
      .steps_done;
}

void save(const std::string& folder, Rank& rank, int64_t steps_done) {
  CheckpointSettings settings;
  settings.world = rank.world;
  settings.mesh = rank.strategy->mesh();
  settings.is_async = true;
  CheckpointFolder checkpoints(folder, {}, settings);
  checkpoints.save(rank.strategy->parts(*rank.model), *rank.optimizer, {steps_done, ""});
  checkpoints.finish();
}

/// Trains up to `end` and saves; adds losses and, of the last leg, parameters.
void train_leg(const std::string& folder, Rank& rank, const RunLayout& layout, int64_t end,
               LayoutResult& result) {
  const int64_t begin = go_on(folder, rank);
  const std::vector<Batch> all = token_batches(3 * kLeg * kBatches, 50, 2, 7);
  const std::vector<Batch> rest(all.begin() + begin * kBatches, all.end());
  DealtBatches data(rest, rank.strategy->data_rank(), rank.strategy->mesh().data_size());
  FakeSchedule schedule;
  TrainerSettings settings;
  settings.max_steps = end;
  settings.accumulate = layout.accumulate;
  settings.max_grad_norm = 1.0;
  Trainer trainer(settings,
                  {rank.model.get(), &data, rank.strategy.get(), rank.optimizer.get(), &schedule});
  Recorder recorder;
  trainer.add_observer(&recorder);
  trainer.run(begin);
  save(folder, rank, end);
  if (end == 3 * kLeg) add_parts(rank.strategy->parts(*rank.model), result.parameters);
  if (rank.number() != 0) return;
  for (const StepReport& step : recorder.steps) result.losses.push_back(step.loss);
  for (const StepReport& step : recorder.steps) result.grad_norms.push_back(step.grad_norm);
}

LayoutResult run_legs(const Registries& registries, const std::vector<RunLayout>& legs) {
  const TemporaryFolder folder;
  LayoutResult result;
  const auto steps = static_cast<int64_t>(3 * kLeg / static_cast<int64_t>(legs.size()));
  int64_t end = 0;
  for (const RunLayout& layout : legs) {
    end += steps;
    if (layout.num_ranks == 1) {
      Rank rank(registries, layout, nullptr);
      train_leg(folder.path(), rank, layout, end, result);
    } else {
      const auto thrown = run_thread_ranks(layout.num_ranks, [&](Communicator& world) {
        Rank rank(registries, layout, &world);
        train_leg(folder.path(), rank, layout, end, result);
      });
      for (const std::string& what : thrown) CHECK(what == "");
    }
    CHECK(verify_checkpoint(folder / ("step=" + std::to_string(end))).findings.empty());
  }
  return result;
}

RunLayout layout(const std::string& strategy, int64_t num_ranks, int64_t data_ranks) {
  return {strategy, "{" + strategy + "}", num_ranks, data_ranks, kBatches / data_ranks};
}

}  // namespace

TEST_CASE("a run that goes on with other ranks and strategies is the run that was never cut") {
  BuiltPlugins plugins;
  const Registries& registries = plugins.registries();
  for (const char* name : {"ddp", "fsdp", "model_parallel", "single"}) {
    registries.get<ParallelStrategy>(name);
  }
  registries.get<Backbone>("llama");
  registries.get<Optimizer>("adamw");
  const RunLayout single = layout(R"("name": "single")", 1, 1);
  const RunLayout ddp_2 = layout(R"("name": "ddp")", 2, 2);
  const RunLayout zero_1_2 = layout(R"("name": "fsdp", "zero_stage": 1)", 2, 2);
  const RunLayout fsdp_2 = layout(R"("name": "fsdp")", 2, 2);
  const RunLayout fsdp_4 = layout(R"("name": "fsdp")", 4, 4);
  const RunLayout hybrid = layout(R"("name": "fsdp", "replicate_size": 2)", 4, 4);
  const RunLayout tensor_2 = layout(R"("name": "model_parallel", "tensor_parallel_size": 2)", 2, 1);
  const RunLayout tensor_4 = layout(R"("name": "model_parallel", "tensor_parallel_size": 2)", 4, 2);
  const LayoutResult straight = run_legs(registries, {single});
  REQUIRE(straight.losses.size() == 3 * kLeg);
  const std::vector<std::vector<RunLayout>> relays = {
      {fsdp_2, fsdp_4, single},     {single, tensor_4, fsdp_2}, {tensor_2, ddp_2, tensor_4},
      {zero_1_2, hybrid, tensor_2}, {fsdp_4, tensor_4, fsdp_4},
  };
  for (const std::vector<RunLayout>& relay : relays) {
    CAPTURE(relay[0].name);
    CAPTURE(relay[1].name);
    CAPTURE(relay[2].name);
    const LayoutResult result = run_legs(registries, relay);
    REQUIRE(result.losses.size() == straight.losses.size());
    for (size_t i = 0; i < straight.losses.size(); ++i) {
      CHECK(result.losses[i] == doctest::Approx(straight.losses[i]).epsilon(1e-6));
    }
    CHECK(largest_difference(straight, result) < 1e-5);
  }
  // Under one layout a cut changes not a bit.
  const LayoutResult uncut = run_legs(registries, {tensor_4});
  const LayoutResult cut = run_legs(registries, {tensor_4, tensor_4, tensor_4});
  CHECK(cut.losses == uncut.losses);
  for (const auto& [name, value] : uncut.parameters) CHECK(cut.parameters.at(name).equal(value));
}

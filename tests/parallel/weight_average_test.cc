// The moving average of the weights under each layout: the bits of one process.

#include "train/weight_average.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "checkpoint/checkpoint.h"
#include "common/temporary_folder.h"
#include "parallel/layout_run.h"
#include "parallel/thread_ranks.h"
#include "parallel/trained_models.h"

using namespace s2s;
using namespace s2s::test;

namespace {

constexpr int64_t kTogether = 4;  // of an optimizer step, on all ranks together
constexpr int64_t kAveragedSteps = 6;

struct Averages {
  TensorMap weights, averages, swapped;
};

/// The averages of this rank's shards, in the place of the shards.
std::vector<LocalShard> averages_of(std::vector<LocalShard> parts, const Optimizer& optimizer) {
  const TensorMap state = optimizer.state();
  std::erase_if(parts, [&](const LocalShard& part) { return !state.contains(part.name + ".ema"); });
  for (LocalShard& part : parts) part.tensor = state.at(part.name + ".ema");
  return parts;
}

/// Trains on one batch again and again: then the sums over ranks are exact in any order. Goes on
/// from the newest checkpoint of `folder`.
void average_leg(const Registries& registries, const std::string& folder, const RunLayout& layout,
                 Communicator* world, int64_t end, Averages& result) {
  ProcessContext context;
  context.world = world;
  context.path = "trainer.strategy";
  const std::unique_ptr<Model> model = tied_llama().make(registries);
  const auto strategy =
      registries.create<ParallelStrategy>(parse_json(layout.strategy, "strategy"), context);
  EmaBlock ema;
  ema.decay = 0.8;
  ema.every_n_steps = 2;
  AveragingOptimizer optimizer(
      registries.create<Optimizer>(
          parse_json(R"({"name": "adamw", "lr": 1e-2, "weight_decay": 0.01, "eps": 1e-4})", "o"),
          context),
      ema);
  strategy->attach(*model, model->configure_model(strategy->mesh()));
  const std::vector<NamedTensor> shards = strategy->optimizer_parameters(*model);
  optimizer.attach(shards, std::vector<double>(shards.size(), 1.0));
  CheckpointSettings saving;
  saving.world = world;
  saving.mesh = strategy->mesh();
  CheckpointFolder checkpoints(folder, {}, saving);
  const std::vector<LocalShard> parts = strategy->parts(*model);
  int64_t begin = 0;
  if (const std::string newest = checkpoints.newest(); !newest.empty()) {
    load_model(newest, *model, parts);
    strategy->after_update(*model);
    const int64_t rank = world == nullptr ? 0 : world->rank();
    begin = load_run_state(newest, optimizer, parts, {strategy->mesh(), rank}).steps_done;
  }
  const std::vector<Batch> all(static_cast<size_t>(kAveragedSteps * kTogether),
                               token_batches(1, 50, 2, 7).front());
  DealtBatches data(all, strategy->data_rank(), strategy->mesh().data_size());
  FakeSchedule schedule;
  TrainerSettings settings;
  settings.max_steps = end;
  settings.accumulate = layout.accumulate;
  Trainer trainer(settings, {model.get(), &data, strategy.get(), &optimizer, &schedule});
  trainer.run(begin);
  checkpoints.save(strategy->parts(*model), optimizer, {end, ""});
  if (end != kAveragedSteps) return;
  add_parts(parameters_of(parts, *model), result.weights);
  add_parts(averages_of(parts, optimizer), result.averages);
  CHECK(optimizer.swap());
  strategy->after_update(*model);
  add_parts(parameters_of(strategy->parts(*model), *model), result.swapped);
}

Averages average_over(const Registries& registries, const std::vector<RunLayout>& legs) {
  const TemporaryFolder folder;
  Averages result;
  int64_t end = 0;
  for (const RunLayout& layout : legs) {
    end += kAveragedSteps / static_cast<int64_t>(legs.size());
    const auto leg = [&](Communicator* world) {
      average_leg(registries, folder.path(), layout, world, end, result);
    };
    if (layout.num_ranks == 1) {
      leg(nullptr);
      continue;
    }
    for (const std::string& what :
         run_thread_ranks(layout.num_ranks, [&](Communicator& world) { leg(&world); })) {
      CHECK(what == "");
    }
  }
  return result;
}

RunLayout ranks_of(const std::string& strategy, int64_t num_ranks) {
  return {strategy, "{" + strategy + "}", num_ranks, num_ranks, kTogether / num_ranks};
}

void check_averages(const TensorMap& found, const TensorMap& expected) {
  CHECK(found.size() == expected.size());
  for (const auto& [name, value] : expected) {
    CAPTURE(name);
    CHECK(found.at(name).equal(value));
  }
}

}  // namespace

TEST_CASE("the moving average has the bits of one process under ddp and fsdp, and over resumes") {
  BuiltPlugins plugins;
  const Registries& registries = plugins.registries();
  for (const char* name : {"ddp", "fsdp", "single"}) registries.get<ParallelStrategy>(name);
  registries.get<Backbone>("llama");
  registries.get<Optimizer>("adamw");
  const RunLayout single = ranks_of(R"("name": "single")", 1);
  const RunLayout ddp_2 = ranks_of(R"("name": "ddp")", 2);
  const RunLayout zero_1_2 = ranks_of(R"("name": "fsdp", "zero_stage": 1)", 2);
  const RunLayout fsdp_2 = ranks_of(R"("name": "fsdp")", 2);
  const RunLayout fsdp_4 = ranks_of(R"("name": "fsdp")", 4);
  const Averages alone = average_over(registries, {single});
  REQUIRE(!alone.averages.empty());
  check_averages(alone.swapped, alone.averages);
  CHECK(!alone.averages.begin()->second.equal(alone.weights.at(alone.averages.begin()->first)));
  const std::vector<std::vector<RunLayout>> relays = {
      {ddp_2}, {zero_1_2}, {fsdp_2}, {fsdp_4}, {single, single}, {fsdp_2, single, ddp_2}};
  for (const std::vector<RunLayout>& relay : relays) {
    CAPTURE(relay[0].name);
    CAPTURE(relay.size());
    const Averages result = average_over(registries, relay);
    check_averages(result.weights, alone.weights);
    check_averages(result.averages, alone.averages);
    check_averages(result.swapped, alone.averages);
  }
}

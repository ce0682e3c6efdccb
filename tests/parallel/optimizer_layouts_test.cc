// Optimizers that need more than elements, and their neighbors, under each layout: the parameters
// of one process, also when a run goes on under another layout.

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

constexpr int64_t kTogether = 4;  // micro-batches of a step, on all ranks together

/// An optimizer, and how far a layout may be from one process, relative to the largest value.
struct Case {
  std::string optimizer;
  double same_sums, other_sums;  // gradients that are summed in the same, in another order
};

/// Where a sign or bfloat16 magnifies rounding, gradients of another order move single elements.
const std::vector<Case> kCases = {
    {R"({"name": "sgd", "lr": 0.05, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01})",
     1e-6, 1e-5},
    {R"({"name": "lion", "lr": 1e-3, "weight_decay": 0.01})", 1e-6, 0.2},
    {R"({"name": "adafactor", "beta1": 0.9, "weight_decay": 0.01})", 1e-6, 1e-3},
    {R"({"name": "adafactor", "lr": 1e-3, "relative_step": false, "scale_parameter": false})", 1e-6,
     1e-3},
    {R"({"name": "muon", "lr": 0.01, "adamw_lr": 1e-3, "adamw_eps": 1e-4})", 1e-6, 0.03},
    {R"({"name": "muon", "lr": 0.01, "ns_steps": 0, "adamw_eps": 1e-4})", 1e-6, 1e-3}};

RunLayout layout(const std::string& strategy, int64_t num_ranks, int64_t data_ranks) {
  return {strategy, "{" + strategy + "}", num_ranks, data_ranks, kTogether / data_ranks};
}

const RunLayout kSingle = layout(R"("name": "single")", 1, 1);
const RunLayout kDdp = layout(R"("name": "ddp")", 2, 2);
const RunLayout kZero1 = layout(R"("name": "fsdp", "zero_stage": 1)", 2, 2);
const RunLayout kFsdp = layout(R"("name": "fsdp")", 2, 2);
const RunLayout kFsdp4 = layout(R"("name": "fsdp")", 4, 4);
const RunLayout kHybrid = layout(R"("name": "fsdp", "replicate_size": 2)", 4, 4);
const RunLayout kOffloaded = layout(R"("name": "fsdp", "offload": "params")", 2, 2);
const RunLayout kTensor = layout(R"("name": "model_parallel", "tensor_parallel_size": 2)", 2, 1);
const RunLayout kBoth = layout(R"("name": "model_parallel", "tensor_parallel_size": 2)", 4, 2);

bool is_tensor(const RunLayout& one) { return one.strategy.find("tensor") != std::string::npos; }

void load(BuiltPlugins& plugins) {
  for (const char* name : {"ddp", "fsdp", "model_parallel", "single"}) {
    plugins.registries().get<ParallelStrategy>(name);
  }
  plugins.registries().get<Backbone>("llama");
  plugins.registries().get<Optimizer>("muon");
}

/// One batch again and again: the sums over data ranks are exact in any order. The norm of all
/// gradients is not, and would scale them.
TrainedModel model_of(const Case& one) {
  TrainedModel trained = tied_llama();
  trained.batches.assign(static_cast<size_t>(kLayoutSteps * kTogether),
                         token_batches(1, 50, 2, 7).front());
  trained.optimizer = one.optimizer;
  trained.max_grad_norm = 0;
  return trained;
}

LayoutResult train(const Registries& registries, const TrainedModel& trained,
                   const RunLayout& one) {
  LayoutResult result;
  if (one.num_ranks == 1) {
    run_layout(registries, trained, one, nullptr, result);
    return result;
  }
  const auto errors = run_thread_ranks(one.num_ranks, [&](Communicator& world) {
    run_layout(registries, trained, one, &world, result);
  });
  for (const std::string& error : errors) CHECK(error == "");
  return result;
}

/// Goes on from the newest checkpoint of a folder, up to step `end`, and saves.
void train_leg(const Registries& registries, const TrainedModel& trained, const std::string& folder,
               const RunLayout& one, Communicator* world, int64_t end, LayoutResult& result) {
  ProcessContext context;
  context.world = world;
  context.path = "trainer.strategy";
  const std::unique_ptr<Model> model = trained.make(registries);
  const auto strategy =
      registries.create<ParallelStrategy>(parse_json(one.strategy, "strategy"), context);
  const auto optimizer =
      registries.create<Optimizer>(parse_json(trained.optimizer, "optimizer"), context);
  strategy->attach(*model, model->configure_model(strategy->mesh()));
  const std::vector<NamedTensor> shards = parameters_to_attach(*optimizer, *strategy, *model);
  optimizer->attach(shards, std::vector<double>(shards.size(), 1.0));
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
    begin = load_run_state(newest, *optimizer, parts, {strategy->mesh(), rank}).steps_done;
  }
  DealtBatches data(trained.batches, strategy->data_rank(), strategy->mesh().data_size());
  FakeSchedule schedule;
  TrainerSettings settings;
  settings.max_steps = end;
  settings.accumulate = one.accumulate;
  settings.max_grad_norm = trained.max_grad_norm;
  Trainer trainer(settings, {model.get(), &data, strategy.get(), optimizer.get(), &schedule});
  trainer.run(begin);
  checkpoints.save(strategy->parts(*model), *optimizer, {end, ""});
  add_parts(parameters_of(strategy->parts(*model), *model), result.parameters);
}

LayoutResult relay(const Registries& registries, const TrainedModel& trained,
                   const std::vector<RunLayout>& legs) {
  const TemporaryFolder folder;
  LayoutResult result;
  int64_t end = 0;
  for (const RunLayout& one : legs) {
    end += kLayoutSteps / static_cast<int64_t>(legs.size());
    if (one.num_ranks == 1) {
      train_leg(registries, trained, folder.path(), one, nullptr, end, result);
    } else {
      const auto errors = run_thread_ranks(one.num_ranks, [&](Communicator& world) {
        train_leg(registries, trained, folder.path(), one, &world, end, result);
      });
      for (const std::string& error : errors) CHECK(error == "");
    }
    CHECK(verify_checkpoint(folder / ("step=" + std::to_string(end))).findings.empty());
  }
  return result;
}

}  // namespace

TEST_CASE("optimizers give the same parameters in every layout") {
  BuiltPlugins plugins;
  load(plugins);
  for (const Case& one : kCases) {
    CAPTURE(one.optimizer);
    const TrainedModel trained = model_of(one);
    const LayoutResult single = train(plugins.registries(), trained, kSingle);
    for (const RunLayout& other :
         {kDdp, kZero1, kFsdp, kFsdp4, kHybrid, kOffloaded, kTensor, kBoth}) {
      CAPTURE(other.name);
      const double found = largest_difference(single, train(plugins.registries(), trained, other));
      CHECK(found < (is_tensor(other) ? one.other_sums : one.same_sums));
      MESSAGE(one.optimizer << " " << other.name << ": " << found);
    }
  }
}

TEST_CASE("a strategy that shards and offers nothing whole is refused") {
  BuiltPlugins plugins;
  load(plugins);
  struct Sharding : ParallelStrategy {
    MeshShape mesh() const override { return {}; }
    int64_t data_rank() const override { return 0; }
    void attach(Block&, const ShardPlan&) override {}
    std::vector<LocalShard> parts(Block&) override {
      return {{"weight", {4}, {{0, 2}}, at::zeros({2})}};
    }
    void finish_backward(Block&) override {}
    at::Tensor grad_norm(Block&) override { return at::zeros({}, at::kDouble); }
    at::Tensor reduce_over_data(const at::Tensor& values) override { return values; }
  } strategy;
  const auto model = tied_llama().make(plugins.registries());
  const auto sgd = plugins.create<Optimizer>(parse_json(R"({"name": "sgd"})", "optimizer"));
  CHECK(parameters_to_attach(*sgd, strategy, *model).size() > 3);
  const auto muon = plugins.create<Optimizer>(parse_json(R"({"name": "muon"})", "optimizer"));
  try {
    parameters_to_attach(*muon, strategy, *model);
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.id() == "config/optimizer-layout");
    CHECK(std::string(error.what()).find("shards weight and does not") != std::string::npos);
  }
}

TEST_CASE("adapters train while the rest is frozen, in every layout") {
  BuiltPlugins plugins;
  load(plugins);
  for (const Case& one : kCases) {
    CAPTURE(one.optimizer);
    TrainedModel trained = model_of(one);
    trained.change = [](Model& model, ShardPlan&) {
      for (NamedTensor& parameter : model.named_parameters()) {
        const bool trains = parameter.name.find("q_proj") != std::string::npos ||
                            parameter.name.find("norm") != std::string::npos;
        parameter.tensor->set_requires_grad(trains);
      }
    };
    const LayoutResult single = train(plugins.registries(), trained, kSingle);
    for (const RunLayout& other : {kFsdp, kTensor}) {
      CAPTURE(other.name);
      const double found = largest_difference(single, train(plugins.registries(), trained, other));
      CHECK(found < (is_tensor(other) ? one.other_sums : one.same_sums));
    }
  }
}

TEST_CASE("a run that goes on under another layout keeps the states of its optimizer") {
  BuiltPlugins plugins;
  load(plugins);
  for (const Case& one : kCases) {
    CAPTURE(one.optimizer);
    const TrainedModel trained = model_of(one);
    const LayoutResult straight = relay(plugins.registries(), trained, {kSingle});
    for (const std::vector<RunLayout>& legs : {std::vector<RunLayout>{kFsdp, kSingle},
                                               {kSingle, kFsdp4},
                                               {kTensor, kFsdp},
                                               {kZero1, kBoth}}) {
      CAPTURE(legs[0].name);
      CAPTURE(legs[1].name);
      const bool has_tensor = is_tensor(legs[0]) || is_tensor(legs[1]);
      const double found = largest_difference(straight, relay(plugins.registries(), trained, legs));
      CHECK(found < (has_tensor ? one.other_sums : one.same_sums));
    }
  }
}

// What the threads of a run do beside each other, small enough for the thread sanitizer
// (core/docs/internals/sanitizers.md): layouts over `local`, checkpoints written beside training,
// flight records, and the board on which ranks read how far the others are.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "checkpoint/checkpoint_observer.h"
#include "common/contains.h"
#include "common/temporary_folder.h"
#include "flight/flight_recorder.h"
#include "parallel/equality.h"
#include "parallel/trained_models.h"
#include "s2s/nn/weights.h"

using namespace s2s;
using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

/// Does something when a phase of a step begins.
class PhaseObserver : public RunObserver {
 public:
  explicit PhaseObserver(std::function<void()> action) : action_(std::move(action)) {}
  void on_phase(int64_t, TrainingPhase) override { action_(); }

 private:
  std::function<void()> action_;
};

/// A setting of each part of the engine that starts something beside the rank's own thread, or
/// shares memory with what other ranks read.
std::vector<RunLayout> chosen_layouts() {
  const std::string fsdp = R"("name": "fsdp")";
  const std::string tensor = R"("name": "model_parallel", "tensor_parallel_size": 2)";
  const std::string recomputed = R"(, "activation_checkpointing": "full")";
  const std::string offloaded = R"(, "offload": "params")";
  return {
      layout("ddp, accumulating", R"("name": "ddp", "bucket_cap_mb": 0.01)", 2, 2, 2),
      layout("zero-2", fsdp + R"(, "zero_stage": 2)", 2, 2),
      layout("fsdp", fsdp, 2, 2),
      layout("fsdp, reshard by 2, offloaded",
             fsdp + offloaded + R"(, "reshard_after_forward": "2")", 4, 4),
      layout("fsdp x tp + sp, recomputed", tensor + recomputed, 4, 2),
      layout("replicate x shard x tp + sp, recomputed and offloaded",
             tensor + recomputed + offloaded + R"(, "replicate_size": 2)", 8, 4),
  };
}

/// Reads and writes every byte of what LibTorch's kernels change, in a way that the sanitizer sees.
void touch(const at::Tensor& tensor) {
  if (!tensor.is_contiguous()) throw std::runtime_error("a part has gaps");
  auto* const bytes = static_cast<volatile char*>(tensor.data_ptr());
  for (size_t i = 0; i < tensor.nbytes(); ++i) bytes[i] = bytes[i];
}

/// A rank of a run under a layout that saves beside training.
struct SavingRank {
  SavingRank(const Registries& registries, const TrainedModel& trained, const RunLayout& layout,
             Communicator& communicator)
      : world(communicator), model(trained.make(registries)) {
    ProcessContext context;
    context.world = &world;
    strategy = registries.create<ParallelStrategy>(parse_json(layout.strategy, "s"), context);
    optimizer = registries.create<Optimizer>(parse_json(R"({"name": "adamw"})", "o"), context);
    strategy->attach(*model, model->configure_model(strategy->mesh()));
    const std::vector<NamedTensor> shards = strategy->optimizer_parameters(*model);
    optimizer->attach(shards, std::vector<double>(shards.size(), 1.0));
  }

  /// What a step changes.
  void touch_all() const {
    for (const LocalShard& part : strategy->parts(*model)) touch(part.tensor);
    for (const auto& [name, tensor] : optimizer->state()) touch(tensor);
  }

  /// kept: by number of steps, what the model was when its save began.
  void train(const std::string& folder, const TrainedModel& trained,
             std::map<int64_t, TensorMap>& kept) {
    CheckpointSettings saved;
    saved.world = &world;
    saved.mesh = strategy->mesh();
    saved.is_async = true;
    CheckpointFolder checkpoints(folder, {}, saved);
    CheckpointObserver saving(checkpoints, "", {});
    DealtBatches data(trained.batches, strategy->data_rank(), strategy->mesh().data_size());
    FakeSchedule schedule;
    TrainerSettings settings;
    settings.max_steps = kLayoutSteps;
    settings.saves.every_steps = {2};
    Trainer trainer(settings, {model.get(), &data, strategy.get(), optimizer.get(), &schedule});
    trainer.add_observer(&saving);
    PhaseObserver touching([&] { touch_all(); });
    trainer.add_observer(&touching);
    trainer.save_checkpoint = [&](int64_t steps_done) {
      const std::vector<LocalShard> parts = strategy->parts(*model);
      add_parts(parts, kept.at(steps_done));
      return checkpoints.save(parts, *optimizer, {steps_done, ""});
    };
    trainer.run(0);
  }

  Communicator& world;
  std::unique_ptr<Model> model;
  std::unique_ptr<ParallelStrategy> strategy;
  std::unique_ptr<Optimizer> optimizer;
};

/// Tells somebody of every batch that it is trained on.
struct ToldModel : TokenModel {
  using TokenModel::TokenModel;
  LossTerms training_loss(const Batch& batch, const StepContext& context) override {
    at_batch(context.step, batch);
    return TokenModel::training_loss(batch, context);
  }
  std::function<void(int64_t step, const Batch&)> at_batch;
};

TrainedModel told(const TrainedModel& trained,
                  std::function<void(int64_t, const Batch&)> at_batch) {
  TrainedModel out = trained;
  out.make = [at_batch = std::move(at_batch)](const Registries& registries) {
    BuildContext context;
    context.path = "model.llm";
    const Config options = parse_json(R"({"name": "llama", "hidden_size": 32,
        "num_hidden_layers": 2, "head_dim": 8, "vocab_size": 50, "intermediate_size": 48,
        "num_attention_heads": 4, "num_key_value_heads": 2})",
                                      "llm");
    auto model = std::make_unique<ToldModel>(registries.create<Backbone>(options, context));
    model->at_batch = at_batch;
    model->materialize(at::kCPU, at::kFloat, 3);
    return model;
  };
  return out;
}

constexpr std::chrono::milliseconds kBeat{10};

/// Runs a layout on two ranks. Rank 0 has a flight recorder, which is one in a process; rank 1 says
/// on the board what it is told to. at_batch: of both.
struct WatchedPair {
  explicit WatchedPair(std::string record_folder) : folder(std::move(record_folder)) {
    load(plugins);
  }
  std::vector<std::string> run(
      const std::function<void(int64_t rank, int64_t step, ProgressBoard*)>& at_step) {
    const auto store = c10::make_intrusive<c10d::HashStore>();
    const TrainedModel trained = families().front();
    const RunLayout fsdp = layout("fsdp", R"("name": "fsdp")", 2, 2);
    return run_thread_ranks(2, [&](Communicator& world) {
      std::unique_ptr<FlightRecorder> recorder;
      std::unique_ptr<ProgressBoard> board;
      if (world.rank() == 0) {
        const ProcessPlace place = {0, 2, 0, 2, store.get(), std::chrono::minutes(5)};
        recorder = std::make_unique<FlightRecorder>(place, FlightSettings{folder, 100, kBeat});
        world.set_observer(recorder.get());
      } else {
        board = std::make_unique<ProgressBoard>(*store, 1, 2, kBeat);
      }
      const TrainedModel mine = told(trained, [&](int64_t step, const Batch&) {
        if (recorder) recorder->set_step(step + 1);
        if (recorder) recorder->set_phase("forward");
        at_step(world.rank(), step, board.get());
      });
      run_layout(plugins.registries(), mine, fsdp, &world, result);
      if (recorder) recorder->set_phase("");
    });
  }
  std::string folder;
  BuiltPlugins plugins;
  LayoutResult result;
};

}  // namespace

TEST_CASE("layouts over local equal one process") {
  BuiltPlugins plugins;
  load(plugins);
  for (const TrainedModel& trained : {families()[1], with_lora(families()[7])}) {
    Reference reference(plugins.registries(), trained);
    for (const RunLayout& one : chosen_layouts()) {
      CAPTURE(trained.name);
      CAPTURE(one.name);
      CHECK(difference_of(plugins.registries(), trained, one, reference) < kEqualityTolerance);
    }
  }
}

TEST_CASE("a checkpoint that is written beside training has the elements of its step") {
  BuiltPlugins plugins;
  load(plugins);
  const TrainedModel trained = families()[1];
  for (const RunLayout& one : chosen_layouts()) {
    CAPTURE(one.name);
    const TemporaryFolder folder;
    std::map<int64_t, TensorMap> kept;
    for (int64_t steps = 2; steps <= kLayoutSteps; steps += 2) kept[steps];
    const auto thrown = run_thread_ranks(one.num_ranks, [&](Communicator& world) {
      SavingRank(plugins.registries(), trained, one, world).train(folder.path(), trained, kept);
    });
    CHECK(thrown == std::vector<std::string>(static_cast<size_t>(one.num_ranks)));
    for (const auto& [steps, expected] : kept) {
      const WeightFiles files = WeightFiles::open(folder / ("step=" + std::to_string(steps)));
      for (const auto& [name, value] : expected) CHECK(files.tensor(name).equal(value));
      CHECK(expected.size() > 1);
    }
    CHECK(!kept.at(2).begin()->second.equal(kept.at(4).begin()->second));  // something has moved
  }
}

TEST_CASE("a flight record that is asked for while ranks train") {
  const TemporaryFolder folder;
  WatchedPair pair(folder.path());
  const auto thrown = pair.run([&](int64_t rank, int64_t step, ProgressBoard* board) {
    if (board != nullptr) board->say("step " + std::to_string(step));
    if (rank != 1 || step != 4) return;
    std::raise(SIGUSR2);
    while (!fs::exists(folder / "flight.0.json")) std::this_thread::yield();
  });
  CHECK(thrown == std::vector<std::string>(2));
  CHECK(pair.result.losses.size() == kLayoutSteps);
  std::ifstream file(folder / "flight.0.json");
  const RankFlight flight = parse_flight({std::istreambuf_iterator<char>(file), {}});
  CHECK(flight.reason == "asked for by SIGUSR2");
  CHECK((flight.step == 4 || flight.step == 5));  // rank 0 may wait for rank 1
  CHECK(flight.collectives.size() > 10);
}

TEST_CASE("ranks that lose one while collectives are under way hear why") {
  const TemporaryFolder folder;
  WatchedPair pair(folder.path());
  const auto thrown = pair.run([&](int64_t rank, int64_t step, ProgressBoard* board) {
    if (rank != 1 || step != 2) return;
    RankFlight last_words;
    last_words.rank = 1;
    last_words.size = 2;
    last_words.step = 3;
    last_words.state = "failed";
    last_words.error = "[run/memory] no memory left";
    board->say(to_json_text(last_words, /*is_compact=*/true), /*now=*/true);
    throw std::runtime_error("no memory left");
  });
  CHECK(thrown[1] == "no memory left");
  CHECK(contains(thrown[0], "[comm/lost] rank 0"));
  CHECK(contains(thrown[0], "step:      3, forward"));
  CHECK(contains(thrown[0], "[run/memory] no memory left"));
  CHECK(fs::exists(folder / "flight.0.json"));
}

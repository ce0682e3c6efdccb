// The collectives of all ranks in whole runs with devices, as their flight recorders have them:
// ranks of a group call the same ones, with the same sizes and dtypes, in one order.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>

#include "common/temporary_folder.h"
#include "device/staged.h"
#include "device/test_device.h"
#include "flight/flight_recorder.h"
#include "parallel/equality.h"
#include "parallel/joined_process.h"
#include "parallel/process_ranks.h"
#include "parallel/trained_models.h"

using namespace s2s;
using namespace s2s::test;

namespace {

constexpr const char* kFolderVariable = "S2S_TEST_FLIGHTS";

struct RecordedRun {
  RunLayout layout;
  bool has_frozen = false;
};

/// Every layout with two micro-batches and a validation after every second step.
std::vector<RecordedRun> recorded_runs() {
  const std::string fsdp = R"("name": "fsdp")";
  const std::string tensor = R"("name": "model_parallel", "tensor_parallel_size": )";
  const std::vector<RunLayout> layouts = {
      layout("ddp 4", R"("name": "ddp", "bucket_cap_mb": 0.01)", 4, 4, 2),
      layout("fsdp 4", fsdp, 4, 4, 2),
      layout("hybrid 2 x 2", fsdp + R"(, "replicate_size": 2)", 4, 4, 2),
      layout("tp 4", tensor + "4", 4, 1, 2),
      layout("fsdp 2 x tp 2", tensor + "2", 4, 2, 2),
  };
  std::vector<RecordedRun> runs;
  for (const RunLayout& one : layouts) {
    const auto with = [&one](const std::string& name, const std::string& options) {
      RunLayout changed = one;
      changed.name += name;
      changed.strategy.insert(changed.strategy.size() - 1, options);
      return changed;
    };
    runs.push_back({one});
    runs.push_back({with(", recomputed", R"(, "activation_checkpointing": "full")")});
    runs.push_back({with(", offloaded", R"(, "offload": "params")")});
    runs.push_back({with(", LoRA", ""), true});
  }
  runs.push_back(
      {layout("fsdp 4, reshard by 2", fsdp + R"(, "reshard_after_forward": "2")", 4, 4)});
  return runs;
}

/// Tells the recorder where the trainer is, as a run does.
class Phases : public RunObserver {
 public:
  explicit Phases(FlightRecorder& recorder) : recorder_(recorder) {}
  void on_phase(int64_t step, TrainingPhase phase) override {
    recorder_.set_step(step);
    recorder_.set_phase(phase == TrainingPhase::kBackward ? "backward" : "step");
  }

 private:
  FlightRecorder& recorder_;
};

TrainedModel trained_on_device(const RecordedRun& run) {
  TrainedModel trained = family("llama", R"("name": "llama")", 3);
  trained.batches = token_batches(4 * 2 * kLayoutSteps, kVocabulary, 2, kPositions);
  if (run.has_frozen) trained = with_lora(trained);
  const auto make = trained.make;
  trained.make = [make](const Registries& registries) {
    auto model = make(registries);
    model->to(test_device(), at::kFloat);
    return model;
  };
  trained.validate = [](Model& model) {
    const at::NoGradGuard no_grad;
    model.train(false);
    Batch batch = token_batches(1, kVocabulary, 2, kPositions).front();
    batch.target_tokens_BT = batch.target_tokens_BT.to(test_device());
    model.training_loss(batch, {0, 14.0, 1});
  };
  return trained;
}

std::string folder_of(const std::string& root, size_t number) {
  return root + "/" + std::to_string(number);
}

RankFlight read_flight(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return parse_flight(text.str());
}

std::vector<RankFlight> read_flights(const std::string& folder, int64_t num_ranks) {
  std::vector<RankFlight> flights;
  for (int64_t rank = 0; rank < num_ranks; ++rank) {
    flights.push_back(read_flight(folder + "/flight." + std::to_string(rank) + ".json"));
  }
  return flights;
}

bool is_member(const FlownGroup& group, int64_t rank) {
  return std::find(group.ranks.begin(), group.ranks.end(), rank) != group.ranks.end();
}

/// What `rank` called in groups that have `other`, too.
std::vector<std::string> calls_with(const RankFlight& flight, int64_t other) {
  std::vector<std::string> calls;
  for (const FlownCollective& one : flight.collectives) {
    const FlownGroup& group = flight.groups[one.group];
    if (!is_member(group, other)) continue;
    calls.push_back(group.name + " " + std::to_string(one.sequence) + " " + one.text());
  }
  return calls;
}

/// The first difference between what two ranks called in the groups that both are in; "" for none.
/// It sees the order of different groups, too: on a GPU, the kernels of two groups wait for each
/// other if they start in different orders and do not fit beside each other.
std::string first_difference(const std::vector<RankFlight>& flights) {
  for (const RankFlight& one : flights) {
    for (const RankFlight& other : flights) {
      const auto here = calls_with(one, other.rank), there = calls_with(other, one.rank);
      const size_t common = std::min(here.size(), there.size());
      for (size_t i = 0; i < common; ++i) {
        if (here[i] != there[i]) return here[i] + " and " + there[i];
      }
      if (here.size() != there.size()) return "one rank calls more collectives";
    }
  }
  return "";
}

/// What `launch diagnose` would name. (A machine with much to do may halt a process.)
std::vector<std::string> findings(const std::vector<RankFlight>& flights) {
  std::vector<std::string> texts;
  for (const auto& found :
       diagnose_flights(flights, static_cast<int64_t>(flights.size())).findings) {
    if (found.kind != "halted") texts.push_back(found.text);
  }
  return texts;
}

void check_flights(const std::vector<RankFlight>& flights) {
  CHECK(findings(flights) == std::vector<std::string>());
  CHECK(first_difference(flights) == "");
  std::set<std::string> phases;
  for (const RankFlight& flight : flights) {
    int64_t num_started = 0;
    for (const FlownGroup& group : flight.groups) num_started += group.num_started;
    CHECK(static_cast<int64_t>(flight.collectives.size()) == num_started);  // all are recorded
    CHECK(num_started > 4 * kLayoutSteps);
    for (const FlownCollective& one : flight.collectives) phases.insert(one.phase);
  }
  CHECK(phases.size() > 1);
}

/// Different groups that two ranks are in.
bool have_two_ranks(const FlownGroup& one, const FlownGroup& other) {
  const bool differ = one.name != other.name;
  return differ && std::count_if(one.ranks.begin(), one.ranks.end(),
                                 [&](int64_t rank) { return is_member(other, rank); }) > 1;
}

/// The comparison sees what it is there for.
void check_comparison(std::vector<RankFlight> flights) {
  std::vector<FlownCollective>& calls = flights[1].collectives;
  const size_t middle = calls.size() / 2;
  auto changed = flights;
  changed[1].collectives[middle].details += ", and more";
  CHECK(findings(changed).size() == 1);
  CHECK(first_difference(changed) != "");
  const auto swapped = std::adjacent_find(
      calls.begin(), calls.end(), [&](const FlownCollective& one, const FlownCollective& next) {
        return have_two_ranks(flights[1].groups[one.group], flights[1].groups[next.group]);
      });
  REQUIRE(swapped != calls.end());
  std::iter_swap(swapped, swapped + 1);
  CHECK(findings(flights).empty());  // each group by itself is in order
  CHECK(first_difference(flights) != "");
}

}  // namespace

TEST_CASE("one rank of the recorded runs" * doctest::skip()) {
  JoinedProcess process("gloo");
  test_device();
  std::vector<int64_t> all(static_cast<size_t>(process.world().size()));
  std::iota(all.begin(), all.end(), 0);
  BuiltPlugins plugins;
  load(plugins);
  const std::vector<RecordedRun> runs = recorded_runs();
  for (size_t i = 0; i < runs.size(); ++i) {
    CAPTURE(runs[i].layout.name);
    FlightRecorder recorder(
        {process.world().rank(), process.world().size()},
        {.folder = folder_of(std::getenv(kFolderVariable), i), .capacity = 100000});
    StagedCommunicator world(process.world().subgroup(all, "staged"), at::kPrivateUse1);
    world.set_observer(&recorder);
    Phases phases(recorder);
    TrainedModel trained = trained_on_device(runs[i]);
    trained.observer = &phases;
    LayoutResult result;
    run_layout(plugins.registries(), trained, runs[i].layout, &world, result);
    recorder.write("the run is over");
  }
}

TEST_CASE("ranks with devices call the same collectives in one order, in every layout") {
  const TemporaryFolder folder;
  const std::vector<RecordedRun> runs = recorded_runs();
  for (size_t i = 0; i < runs.size(); ++i) {
    std::filesystem::create_directories(folder_of(folder.path().string(), i));
  }
  ::setenv(kFolderVariable, folder.path().c_str(), 1);
  REQUIRE(run_process_ranks(4, "one rank of the recorded runs") == std::vector<int>(4));
  for (size_t i = 0; i < runs.size(); ++i) {
    CAPTURE(runs[i].layout.name);
    const auto flights = read_flights(folder_of(folder.path().string(), i), 4);
    check_flights(flights);
    check_comparison(flights);
  }
}

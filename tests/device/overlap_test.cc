// What overlaps in a step of one rank, read from the order in which it starts collectives, waits
// for them and runs the code of units. The other ranks are pretended, so that one process shows the
// step of a rank of eight.
#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "device/pretended_ranks.h"
#include "device/step_timeline.h"
#include "device/test_device.h"
#include "parallel/equality.h"
#include "parallel/trained_models.h"

using namespace s2s;
using namespace s2s::test;

namespace {

using Entry = StepTimeline::Entry;
using Entries = std::vector<Entry>;

constexpr int64_t kRank = 3, kNumLayers = 4;

/// Trains as rank 3 of the layout's ranks. Returns the rank's parameters and losses.
LayoutResult run_rank(const Registries& registries, TrainedModel trained, const RunLayout& layout,
                      const PretendedRanks::Settings& settings, StepTimeline* timeline = nullptr) {
  const auto world = pretended_world(kRank, layout.num_ranks, settings);
  const auto make = trained.make;
  trained.make = [&, make](const Registries& all) {
    auto model = make(all);
    model->to(settings.device, at::kFloat);
    return model;
  };
  if (timeline != nullptr) {
    world->set_observer(timeline);
    trained.attached = [&](Communicator*, Model& model, const ShardPlan& plan) {
      timeline->watch(model, plan);
    };
  }
  LayoutResult result;
  run_layout(registries, trained, layout, world.get(), result, /*only_first=*/false);
  return result;
}

/// The place of an entry in [from, to); `to` if there is none.
size_t place_of(const Entries& all, size_t from, size_t to, StepEvent event, int64_t unit,
                const std::string& group = "") {
  while (from < to && (all[from].event != event || all[from].unit != unit ||
                       (!group.empty() && all[from].group != group))) {
    ++from;
  }
  return from;
}

/// The passes of a run: from one forward of the first unit to the next one.
std::vector<std::pair<size_t, size_t>> passes(const Entries& all) {
  std::vector<std::pair<size_t, size_t>> out;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].event != StepEvent::kForward || all[i].unit != 0) continue;
    if (!out.empty()) out.back().second = i;
    out.emplace_back(i, all.size());
  }
  return out;
}

/// One forward and backward, whose entries are [from, to). Units: the embedding, the layers and the
/// head, which is only read.
class Pass {
 public:
  Pass(const Entries& all, size_t from, size_t to) : all_(all), from_(from), to_(to) {}

  /// While a unit computes, the gather of the next one is under way: it starts before the rank
  /// waits for the unit's own gather, and that wait is the last thing before the unit's code.
  void check_forward() const {
    for (int64_t unit = 1; unit <= kNumLayers; ++unit) {
      CAPTURE(unit);
      const size_t before = place(StepEvent::kForwardEnd, unit - 1);
      check_window(before, place(StepEvent::kForward, unit), unit, unit + 1);
    }
  }

  /// The same from the last layer to the embedding. The reduction of a unit starts before the code
  /// of the next one, and is waited for after it.
  void check_backward() const {
    for (int64_t unit = kNumLayers - 1; unit >= 0; --unit) {
      CAPTURE(unit);
      const size_t before = place(StepEvent::kBackwardEnd, unit + 1);
      const size_t begin = place(StepEvent::kBackward, unit);
      check_window(before, begin, unit, unit - 1);
      check_reduction(unit + 1, before, begin);
    }
    const size_t end = place(StepEvent::kBackward, 0);
    CHECK(place_of(all_, end, to_, StepEvent::kStart, 0, "shard") < to_);
  }

  /// The sum over replicas of a unit follows its reduction, and nobody waits for it before the last
  /// unit's code has been given to the device.
  void check_replicas() const {
    const size_t last = place(StepEvent::kBackward, 0);
    for (int64_t unit = 1; unit <= kNumLayers; ++unit) {
      CAPTURE(unit);
      const size_t reduced = place(StepEvent::kWait, unit, "shard");
      const size_t start = place(StepEvent::kStart, unit, "replicate");
      CHECK(reduced < start);
      CHECK(start < to_);
      if (unit > 2) CHECK(start < place(StepEvent::kBackward, unit - 2));
      CHECK(place(StepEvent::kWait, unit, "replicate") > last);
      CHECK(place(StepEvent::kWait, unit, "replicate") < to_);
    }
  }

  /// Collectives are called on the stream that computes, which waits for them on the device. The
  /// host waits for nothing until it exchanges numbers with the other hosts.
  void check_streams() const {
    const int64_t before = all_[from_].host_waits;
    int64_t num_waits = 0, num_enqueued = 0;
    for (size_t i = from_; i < to_ && all_[i].group != "hosts"; ++i) {
      CHECK(all_[i].host_waits == before);
      CHECK(all_[i].stream == 0);
      num_waits += all_[i].event == StepEvent::kWait ? 1 : 0;
      num_enqueued += all_[i].event == StepEvent::kEnqueued ? 1 : 0;
    }
    CHECK(num_waits > 2 * kNumLayers);
    CHECK(num_enqueued == num_waits);  // no wait found its collective done
  }

 private:
  size_t place(StepEvent event, int64_t unit, const std::string& group = "") const {
    return place_of(all_, from_, to_, event, unit, group);
  }

  /// Between the end of one unit's code and the beginning of the next one's.
  void check_window(size_t from, size_t to, int64_t unit, int64_t next) const {
    const char* const gathers = "shard_gathers";
    const size_t wait = place_of(all_, from, to, StepEvent::kWait, unit, gathers);
    CHECK(from < to);
    CHECK(to < to_);
    CHECK(wait < to);
    CHECK(place_of(all_, from, to, StepEvent::kStart, unit, gathers) == to);  // it started before
    if (next >= 0) CHECK(place_of(all_, from, wait, StepEvent::kStart, next, gathers) < wait);
    for (size_t i = wait + 1; i < to; ++i) CHECK(all_[i].event == StepEvent::kEnqueued);
  }

  void check_reduction(int64_t unit, size_t over, size_t next_begins) const {
    CHECK(place_of(all_, over, next_begins, StepEvent::kStart, unit, "shard") < next_begins);
    const size_t next_over = unit >= 2 ? place(StepEvent::kBackwardEnd, unit - 1) : next_begins;
    const size_t wait = place(StepEvent::kWait, unit, "shard");
    CHECK(wait > next_over);
    CHECK(wait < to_);
  }

  const Entries& all_;
  size_t from_, to_;
};

TrainedModel four_layers() {
  TrainedModel trained = family("llama", R"("name": "llama")", kNumLayers);
  trained.batches = token_batches(8 * 2 * kLayoutSteps, kVocabulary, 2, kPositions);
  return trained;
}

std::vector<RunLayout> overlapping_layouts() {
  const std::string fsdp = R"("name": "fsdp")";
  const std::string two = R"("name": "model_parallel", "tensor_parallel_size": 2)";
  return {
      layout("fsdp 8", fsdp, 8, 8),
      layout("fsdp 8, accumulating", fsdp, 8, 8, 2),
      layout("fsdp 8, recomputed", fsdp + R"(, "activation_checkpointing": "full")", 8, 8),
      layout("hybrid 2 x 4", fsdp + R"(, "replicate_size": 2)", 8, 8),
      layout("hybrid 2 x 4, recomputed, accumulating",
             fsdp + R"(, "replicate_size": 2, "activation_checkpointing": "full")", 8, 8, 2),
      layout("fsdp 4 x tp 2", two, 8, 4),
  };
}

}  // namespace

TEST_CASE("gathers and reductions of units overlap with the code of their neighbors") {
  BuiltPlugins plugins;
  load(plugins);
  for (const RunLayout& layout : overlapping_layouts()) {
    CAPTURE(layout.name);
    StepTimeline timeline(test_device(), host_waits);
    run_rank(plugins.registries(), four_layers(), layout, {test_device()}, &timeline);
    CHECK(timeline.num_units() == kNumLayers + 2);
    const Entries& all = timeline.entries();
    const auto found = passes(all);
    CHECK(found.size() == static_cast<size_t>(kLayoutSteps * layout.accumulate));
    for (size_t i = 0; i < found.size(); ++i) {
      CAPTURE(i);
      const Pass pass(all, found[i].first, found[i].second);
      pass.check_forward();
      pass.check_backward();
      if (i > 0) pass.check_streams();  // the first one makes tables that all others use
      const bool is_last = (static_cast<int64_t>(i) + 1) % layout.accumulate == 0;
      const bool has_replicas = layout.strategy.find("replicate_size") != std::string::npos;
      if (has_replicas && is_last) pass.check_replicas();
    }
  }
}

TEST_CASE("sums over replicas overlap with the backward pass where parameters stay whole") {
  BuiltPlugins plugins;
  load(plugins);
  StepTimeline timeline(test_device(), host_waits);
  run_rank(plugins.registries(), four_layers(),
           layout("ddp 8", R"("name": "ddp", "bucket_cap_mb": 0)", 8, 8), {test_device()},
           &timeline);
  const Entries& all = timeline.entries();
  for (const auto& [from, to] : passes(all)) {
    const size_t last = place_of(all, from, to, StepEvent::kBackward, 0);
    int64_t num_early = 0;
    for (size_t i = from; i < to; ++i) {
      if (all[i].group != "replicate") continue;
      num_early += all[i].event == StepEvent::kStart && i < last ? 1 : 0;
      CHECK((all[i].event != StepEvent::kWait || i > last));
      CHECK(all[i].stream == 0);
    }
    CHECK(num_early >= 9 * kNumLayers);  // the weights of the layers
  }
}

TEST_CASE("what arrives late is waited for: a device computes what a CPU does") {
  BuiltPlugins plugins;
  load(plugins);
  for (const RunLayout& layout : overlapping_layouts()) {
    CAPTURE(layout.name);
    const LayoutResult there =
        run_rank(plugins.registries(), four_layers(), layout, {test_device()});
    const LayoutResult here = run_rank(plugins.registries(), four_layers(), layout, {at::kCPU});
    CHECK(here.losses.size() == kLayoutSteps);
    CHECK(largest_difference(here, there) < 1e-4);  // as layouts_test.cc
  }
}

TEST_CASE("without the wait for a gather, a reduction or a sum, the device computes NaN") {
  BuiltPlugins plugins;
  load(plugins);
  const auto run = [&](const std::string& forgotten) {
    return run_rank(plugins.registries(), four_layers(),
                    layout("hybrid 2 x 4", R"("name": "fsdp", "replicate_size": 2)", 8, 8),
                    {test_device(), nullptr, forgotten});
  };
  CHECK_THROWS_WITH_AS(run("shard_gathers"), doctest::Contains("numerics/not-finite"), Error);
  CHECK(std::isfinite(run("").grad_norms.front()));
  CHECK(std::isnan(run("shard").grad_norms.front()));
  CHECK(std::isnan(run("replicate").grad_norms.front()));
}

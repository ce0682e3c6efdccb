// When units are gathered, freed and reduced: how many have memory at a time, what is started
// ahead, and that ranks which run different units, or units several times, neither wait for each
// other nor differ from one process.

#include <doctest/doctest.h>

#include "parallel/equality.h"
#include "parallel/trained_duplex.h"
#include "parallel/trained_models.h"
#include "parallel/unit_watch.h"

using namespace s2s;
using namespace s2s::test;

namespace {

std::vector<RunLayout> sharded_layouts() {
  const std::string fsdp = R"("name": "fsdp")";
  const std::string recomputed = R"(, "activation_checkpointing": "full")";
  const std::string two = R"("name": "model_parallel", "tensor_parallel_size": 2)";
  return {
      layout("fsdp 2", fsdp, 2, 2),
      layout("fsdp 2, recomputed, accumulating", fsdp + recomputed, 2, 2, 2),
      layout("fsdp 4, reshard by 2", fsdp + R"(, "reshard_after_forward": "2")", 4, 4),
      layout("hybrid 2 x 2", fsdp + R"(, "replicate_size": 2)", 4, 4),
      layout("fsdp 2 x tp 2", two, 4, 2),
      layout("fsdp 2 x tp 2, recomputed", two + recomputed, 4, 2),
  };
}

using Watches = std::vector<std::unique_ptr<UnitWatch>>;

/// One for each rank.
Watches watched(const Registries& registries, TrainedModel trained, const RunLayout& layout,
                LayoutResult& result, bool skips_first_step = false) {
  Watches watches;
  for (int64_t rank = 0; rank < layout.num_ranks; ++rank) {
    watches.push_back(std::make_unique<UnitWatch>());
    watches.back()->skips_first_step = skips_first_step;
  }
  trained.attached = [&](Communicator* world, Model& model, const ShardPlan& plan) {
    watches[static_cast<size_t>(world->rank())]->watch(model, plan);
  };
  const auto errors = run_thread_ranks(
      layout.num_ranks,
      [&](Communicator& world) {
        world.set_observer(watches[static_cast<size_t>(world.rank())].get());
        run_layout(registries, trained, layout, &world, result);
      },
      std::chrono::seconds(60));
  for (const std::string& error : errors) CHECK(error == "");
  return watches;
}

void check_bounds(const Watches& watches) {
  for (const auto& watch : watches) {
    CHECK(watch->most_units() == 2);
    CHECK(watch->most_gathers() == 2);
    CHECK(watch->most_reductions() == 1);
  }
}

/// Every unit is whole when its code begins, and the next one on its way.
void check_prefetch(const Watches& watches) {
  for (const auto& watch : watches) {
    int64_t num_forward = 0, num_backward = 0, num_late = 0;
    for (const UnitWatch::Run& run : watch->runs()) {
      ++(run.is_backward ? num_backward : num_forward);
      num_late += run.is_whole && run.has_next ? 0 : 1;
    }
    CHECK(num_forward >= 4 * kLayoutSteps);
    CHECK(num_backward >= 4 * kLayoutSteps);
    CHECK(num_late == 0);
  }
}

/// A chain of eight units, of which each batch runs some, in an order of its own.
class OptionalUnits : public FakeModel {
 public:
  /// order: of the run; the plan's is 0, 1, 2, ...
  OptionalUnits(std::vector<size_t> order, int64_t first_partial_batch)
      : order_(std::move(order)), first_partial_batch_(first_partial_batch) {
    release_block("linear");  // of the fake
    for (size_t i = 0; i < order_.size(); ++i) {
      layers_.push_back(std::make_unique<Linear>(6, 6));
      register_block("unit" + std::to_string(i), *layers_.back());
    }
  }
  LossTerms training_loss(const Batch& batch, const StepContext& context) override {
    const int64_t number = std::stoll(batch.ids[0].substr(3));
    at::Tensor x = batch.source_audio_BS;
    for (size_t place = 0; place < order_.size(); ++place) {
      const bool runs = number < first_partial_batch_ || is_run(number % 5, place);
      if (runs) x = x + at::tanh((*layers_[order_[place]])(x));
    }
    LossTerms terms;
    terms.total =
        (x.mean(1, true) - batch.source_audio_BS.sum(1, true)).square().sum() / context.loss_frames;
    terms.parts["text_loss"] = terms.total.detach();
    return terms;
  }
  ShardPlan configure_model(const MeshShape&) const override {
    ShardPlan plan;
    plan.rows.push_back({"*"});
    plan.units.push_back({"*"});
    return plan;
  }

 private:
  static bool is_run(int64_t kind, size_t place) {
    if (kind == 0) return place >= 5;  // not the first ones: their backward would be the last
    if (kind == 1) return place < 2 || place > 5;
    if (kind == 2) return place < 4;
    return kind == 3 ? place == 3 : true;
  }

  std::vector<size_t> order_;
  int64_t first_partial_batch_;
  std::vector<std::unique_ptr<Linear>> layers_;
};

TrainedModel optional_units(const std::vector<size_t>& order, int64_t first_partial_batch) {
  TrainedModel trained;
  trained.name = "units that only some ranks run";
  trained.make = [=](const Registries&) {
    auto model = std::make_unique<OptionalUnits>(order, first_partial_batch);
    model->materialize(at::kCPU, at::kFloat, 3);
    return model;
  };
  FakeData data;
  for (int64_t i = 0; i < 4 * 3 * kLayoutSteps; ++i) trained.batches.push_back(*data.next());
  return trained;
}

/// From the second step on the bounds hold.
void check_optional(const TrainedModel& trained) {
  BuiltPlugins plugins;
  load(plugins);
  Reference reference(plugins.registries(), trained);
  const std::string fsdp = R"("name": "fsdp")";
  for (const RunLayout& layout :
       {layout("fsdp 2", fsdp, 2, 2), layout("fsdp 4", fsdp, 4, 4),
        layout("fsdp 4, accumulating", fsdp, 4, 4, 2),
        layout("fsdp 3, recomputed", fsdp + R"(, "activation_checkpointing": "full")", 3, 3),
        layout("fsdp 4, reshard by 2", fsdp + R"(, "reshard_after_forward": "2")", 4, 4)}) {
    CAPTURE(layout.name);
    LayoutResult result;
    const Watches watches = watched(plugins.registries(), trained, layout, result, true);
    CHECK(largest_difference(reference.of(layout.global_batches()), result) < kEqualityTolerance);
    for (const auto& watch : watches) {
      CHECK(watch->most_units() <= 2);
      CHECK(watch->most_gathers() <= 2);
      CHECK(watch->most_reductions() <= 1);
    }
  }
}

/// Reads each batch twice, the second time its beginning only.
template <int64_t kSecondLength>
class TwoForwards : public TokenModel {
 public:
  using TokenModel::TokenModel;
  LossTerms training_loss(const Batch& batch, const StepContext& context) override {
    LossTerms terms = TokenModel::training_loss(batch, context);
    Batch shorter = batch;
    shorter.target_tokens_BT = batch.target_tokens_BT.narrow(1, 0, kSecondLength + 1);
    terms.total = terms.total + TokenModel::training_loss(shorter, context).total;
    terms.parts["text_loss"] = terms.total.detach();
    return terms;
  }
};

}  // namespace

TEST_CASE("two units have memory, the next one comes in time, one reduction is under way") {
  BuiltPlugins plugins;
  load(plugins);
  const TrainedModel plain = family("llama", R"("name": "llama")", 4);
  for (const RunLayout& layout : sharded_layouts()) {
    for (const TrainedModel& trained : {plain, with_lora(plain)}) {
      CAPTURE(trained.name);
      CAPTURE(layout.name);
      LayoutResult result;
      const Watches watches = watched(plugins.registries(), trained, layout, result);
      check_bounds(watches);
      check_prefetch(watches);
    }
  }
}

TEST_CASE("the bounds hold in the duplex model") {
  BuiltPlugins plugins;
  load(plugins);
  load_duplex(plugins);
  const std::string extras = std::string(", ") + kExtras;
  const TrainedModel user_text = duplex("duplex, tied, user text", true, extras);
  for (const TrainedModel& trained :
       {duplex("duplex", false, ""), user_text,
        duplex("duplex, frozen encoder", false, "", {"perception.encoder"})}) {
    for (const RunLayout& layout : sharded_layouts()) {
      CAPTURE(trained.name);
      CAPTURE(layout.name);
      LayoutResult result;
      // The head of the user's text reads the embedding a first time.
      const bool skips_first_step = trained.name == user_text.name;
      check_bounds(watched(plugins.registries(), trained, layout, result, skips_first_step));
    }
  }
}

TEST_CASE("ranks that run different units keep step, with two units each") {
  check_optional(optional_units({0, 1, 2, 3, 4, 5, 6, 7}, 0));
}

TEST_CASE("units are gathered in the order in which they ran, whatever the plan's order is") {
  check_optional(optional_units({3, 1, 0, 2, 5, 7, 6, 4}, 8));  // the first step shows it
}

TEST_CASE("two forwards of different lengths before one backward equal one process") {
  BuiltPlugins plugins;
  load(plugins);
  const std::string keys = R"("name": "llama")";
  const TrainedModel models[] = {
      family<TwoForwards<6>>("7 and 6 positions", keys),  // as many on each rank
      family<TwoForwards<3>>("7 and 3 positions", keys),
      with_lora(family<TwoForwards<4>>("7 and 4 positions", keys)),
  };
  std::vector<RunLayout> layouts = sharded_layouts();
  const std::string two = R"("name": "model_parallel", "tensor_parallel_size": 2)";
  const std::string some = R"(, "activation_checkpointing": "norm_and_mlp")";
  layouts.push_back(layout("tp + sp 2", two, 2, 1));
  layouts.push_back(layout("tp + sp 2, norms and MLPs recomputed", two + some, 2, 1));
  layouts.push_back(
      layout("tp + sp 2, recomputed", two + R"(, "activation_checkpointing": "full")", 2, 1));
  layouts.push_back(
      layout("ddp 2, recomputed", R"("name": "ddp", "activation_checkpointing": "full")", 2, 2));
  for (const TrainedModel& trained : models) {
    Reference reference(plugins.registries(), trained);
    for (const RunLayout& layout : layouts) {
      CAPTURE(trained.name);
      CAPTURE(layout.name);
      CHECK(difference_of(plugins.registries(), trained, layout, reference) < kEqualityTolerance);
    }
  }
}

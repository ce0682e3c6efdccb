// Steps that go wrong are saved, and give the same numbers when they are run again alone.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

#include "common/temporary_folder.h"
#include "core/train/fake_run.h"
#include "s2s/error.h"
#include "train/saved_step.h"
#include "train/trainer.h"

namespace {

using s2s::Batch;
using s2s::SavedStep;
using s2s::Trainer;
using s2s::TrainerSettings;
using s2s::test::FakeData;
using s2s::test::FakeRun;
using s2s::test::Recorder;
using s2s::test::TemporaryFolder;

TrainerSettings keeping(int64_t max_steps) {
  TrainerSettings out;
  out.max_steps = max_steps;
  out.accumulate = 2;
  out.seed = 11;
  out.device = s2s::test::device();
  out.save_bad_steps = 2;
  out.loss_spike = 3;
  return out;
}

/// Rows of one step that are a hundred times too loud.
class LoudData : public FakeData {
 public:
  explicit LoudData(int64_t loud) : loud_(loud) {}
  std::optional<Batch> next() override {
    const int64_t position = std::stoll(state());
    std::optional<Batch> batch = FakeData::next();
    if (position == loud_) batch->source_audio_BS = batch->source_audio_BS * 100;
    return batch;
  }

 private:
  int64_t loud_;
};

/// A saved step with the weights of then.
struct Kept {
  SavedStep step;
  s2s::TensorMap weights;
};

s2s::TensorMap copied(s2s::Block& model) {
  s2s::TensorMap out;
  for (const s2s::NamedTensor& p : model.named_parameters()) out[p.name] = p.tensor->clone();
  return out;
}

std::function<std::string(SavedStep&)> keeper(FakeRun& run, std::vector<Kept>& kept) {
  return [&](SavedStep& step) {
    kept.push_back({step, copied(run.model)});
    return std::string("file");
  };
}

class SavedData : public s2s::DataSource {
 public:
  explicit SavedData(const SavedStep& step) : step_(step) {}
  std::optional<Batch> next() override { return step_.batches.at(next_++); }
  std::string state() const override { return ""; }
  void restore(const std::string&) override {}

 private:
  const SavedStep& step_;
  size_t next_ = 0;
};

/// Runs a saved step alone.
s2s::StepReport replayed(const Kept& kept, const std::function<void(FakeRun&)>& change = {}) {
  FakeRun run;
  if (change) change(run);
  for (const s2s::NamedTensor& p : run.model.named_parameters()) {
    p.tensor->data().copy_(kept.weights.at(p.name));
  }
  SavedData data(kept.step);
  s2s::TrainerParts parts = run.parts();
  parts.data = &data;
  TrainerSettings alone = keeping(kept.step.step + 1);
  alone.save_bad_steps = 0;
  alone.replay = s2s::ReplayedRank{kept.step.data_rank, kept.step.data_size, kept.step.frames};
  Trainer trainer(alone, parts);
  Recorder recorder;
  trainer.add_observer(&recorder);
  at::manual_seed(99);
  trainer.run(kept.step.step);
  return recorder.steps.at(0);
}

}  // namespace

TEST_CASE("a loss spike is saved with the weights before its update, and runs again bit for bit") {
  FakeRun run;
  LoudData data(60);  // step 30, two micro-batches each
  s2s::TrainerParts parts = run.parts();
  parts.data = &data;
  Trainer trainer(keeping(31), parts);
  std::vector<Kept> kept;
  Recorder recorder;
  trainer.add_observer(&recorder);
  trainer.save_step = keeper(run, kept);
  trainer.run(0);
  REQUIRE(kept.size() == 1);
  const SavedStep& step = kept[0].step;
  CHECK(step.step == 30);
  CHECK(step.reason.find("times the mean") != std::string::npos);
  CHECK(step.data_state == "60");
  REQUIRE(step.batches.size() == 2);
  CHECK(step.batches[0].ids == std::vector<std::string>{"row60"});
  CHECK(step.loss == recorder.steps[30].loss);
  if (!s2s::test::device().is_cpu()) {
    CHECK(step.weights_problem != "");
    return;
  }
  const s2s::StepReport again = replayed(kept[0]);
  CHECK(again.step == 30);
  CHECK(again.loss == recorder.steps[30].loss);  // dropout draws the same numbers
  CHECK(again.grad_norm == recorder.steps[30].grad_norm);
}

TEST_CASE("a loss that is not finite is saved before the run ends, and the message says where") {
  FakeRun run;
  run.model.poisoned_step = 4;
  Trainer trainer(keeping(9), run.parts());
  std::vector<Kept> kept;
  trainer.save_step = keeper(run, kept);
  CHECK_THROWS_WITH_AS(trainer.run(0), doctest::Contains("s2s-run train --replay file"),
                       s2s::Error);
  REQUIRE(kept.size() == 1);
  CHECK(std::isnan(kept[0].step.loss));
  CHECK(kept[0].step.weights_problem.empty());
  FakeRun before;  // also a device has not gone on
  Trainer(keeping(4), before.parts()).run(0);
  for (const auto& [name, value] : copied(before.model)) {
    CHECK(at::equal(value, kept[0].weights.at(name)));
  }
  const s2s::StepReport again =
      replayed(kept[0], [](FakeRun& other) { other.model.poisoned_step = 4; });
  CHECK(std::isnan(again.loss));  // a replay is not ended by it
}

TEST_CASE("gradients that are not finite are saved, a limited number of times") {
  FakeRun run;
  run.model.poison_gradients = true;
  TrainerSettings some = keeping(5);
  some.max_skipped = 10;
  Trainer trainer(some, run.parts());
  std::vector<Kept> kept;
  trainer.save_step = keeper(run, kept);
  trainer.run(0);
  REQUIRE(kept.size() == 2);  // save_bad_steps
  CHECK(kept[1].step.step == 1);
  CHECK(kept[0].step.reason.find("the gradient norm is") == 0);
  CHECK_FALSE(std::isfinite(kept[0].step.grad_norm));
}

TEST_CASE("a steady loss is no spike") {
  FakeRun run;
  Trainer trainer(keeping(40), run.parts());
  std::vector<Kept> kept;
  trainer.save_step = keeper(run, kept);
  trainer.run(0);
  CHECK(kept.empty());
}

TEST_CASE("a saved step survives its file to the last bit") {
  const TemporaryFolder folder;
  SavedStep step;
  step.step = 7;
  step.reason = "the loss is nan";
  step.loss = std::nan("");
  step.own_loss = 0.1 + 0.2;
  step.grad_norm = INFINITY;
  step.frames = 123;
  step.data_rank = 1;
  step.data_size = 2;
  step.num_ranks = 4;
  step.weights = "step=7";
  step.data_state = "{\"batches\":3}";
  step.batches.resize(2);
  step.batches[1].ids = {"a", "b"};
  step.batches[1].source_audio_BS = at::rand({2, 5});
  step.batches[1].target_tokens_BT = at::arange(6).view({2, 3});
  const std::string path = folder / "batch.safetensors";
  s2s::write_saved_step(path, step);
  const SavedStep read = s2s::read_saved_step(path);
  CHECK(read.step == 7);
  CHECK(std::isnan(read.loss));
  CHECK(read.own_loss == step.own_loss);
  CHECK(read.grad_norm == INFINITY);
  CHECK(read.weights == "step=7");
  CHECK(read.data_state == step.data_state);
  REQUIRE(read.batches.size() == 2);
  CHECK(read.batches[1].ids == step.batches[1].ids);
  CHECK(at::equal(read.batches[1].source_audio_BS, step.batches[1].source_audio_BS));
  CHECK(at::equal(read.batches[1].target_tokens_BT, step.batches[1].target_tokens_BT));
  CHECK_FALSE(read.batches[0].source_audio_BS.defined());
}

TEST_CASE("a loss jumps with its terms; a new stage with other weights begins again") {
  const auto learned = [](s2s::LossSpikes& spikes, double scale) {
    for (int i = 0; i < 30; ++i) spikes.add(scale * 3, {{"text", 1}, {"audio", 2}});
  };
  s2s::LossSpikes spikes(3);
  learned(spikes, 1);
  CHECK(spikes.judged(8, {{"text", 3}, {"audio", 5}}).empty());
  const std::string spike = spikes.judged(12, {{"text", 1}, {"audio", 11}});
  CHECK(spike == "the loss 12 is 4 times the mean of the 30 losses before");
  spikes.add(12, {{"text", 1}, {"audio", 11}});  // a spike is not remembered
  CHECK(spikes.judged(12, {{"text", 1}, {"audio", 11}}) == spike);
  // Other weights: the loss jumps, and none of its terms.
  CHECK(spikes.judged(30, {{"text", 1}, {"audio", 2}}).empty());
  spikes.add(30, {{"text", 1}, {"audio", 2}});
  CHECK(spikes.judged(200, {{"text", 100}, {"audio", 100}}).empty());  // too few losses
  learned(spikes, 10);
  CHECK_FALSE(spikes.judged(200, {{"text", 100}, {"audio", 100}}).empty());
  // Other terms.
  CHECK(spikes.judged(200, {{"text", 100}, {"user", 100}}).empty());
  spikes.add(200, {{"text", 100}, {"user", 100}});
  CHECK(spikes.judged(900, {{"text", 400}, {"user", 500}}).empty());
  s2s::LossSpikes none(0);
  learned(none, 1);
  CHECK(none.judged(100, {{"text", 50}, {"audio", 50}}).empty());
}

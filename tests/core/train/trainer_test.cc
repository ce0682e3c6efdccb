#include "train/trainer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_shards.h"
#include "common/temporary_folder.h"
#include "core/train/fake_run.h"
#include "s2s/error.h"

namespace {

using s2s::Trainer;
using s2s::TrainerSettings;
using s2s::test::FakeRun;
using s2s::test::Recorder;
using s2s::test::TemporaryFolder;

TrainerSettings settings(int64_t max_steps, std::vector<int64_t> save_every = {}) {
  TrainerSettings out;
  out.max_steps = max_steps;
  out.accumulate = 2;
  out.device = s2s::test::device();
  out.saves.every_steps = std::move(save_every);
  return out;
}

}  // namespace

TEST_CASE("a run resumed from a checkpoint repeats the uninterrupted run bit for bit") {
  TemporaryFolder folder;
  s2s::CheckpointFolder checkpoints(folder.path(), {});
  Recorder straight, resumed;
  at::manual_seed(5);
  {
    FakeRun run;
    Trainer trainer(settings(9, {4}), run.parts());
    trainer.add_observer(&straight);
    trainer.save_checkpoint = [&](int64_t done) {
      return checkpoints.save(s2s::whole_parts(run.model), run.optimizer, {done, run.data.state()});
    };
    CHECK(trainer.run(0) == Trainer::End::kFinished);
  }
  CHECK(straight.checkpoints == std::vector<int64_t>{4, 8, 9});
  at::manual_seed(77);  // the checkpoint brings its own random state
  FakeRun run;
  const std::string from = folder / "step=4";
  s2s::load_model(from, run.model);
  const s2s::RunState state = s2s::load_run_state(from, run.optimizer);
  run.data.restore(state.data_state);
  Trainer trainer(settings(9), run.parts());
  trainer.add_observer(&resumed);
  trainer.run(state.steps_done);
  REQUIRE(straight.steps.size() == 9);
  REQUIRE(resumed.steps.size() == 5);
  for (size_t i = 0; i < 5; ++i) {
    CHECK(resumed.steps[i].step == straight.steps[i + 4].step);
    CHECK(resumed.steps[i].loss == straight.steps[i + 4].loss);
    CHECK(resumed.steps[i].grad_norm == straight.steps[i + 4].grad_norm);
  }
}

TEST_CASE("a stop request ends the run after the step, with a checkpoint") {
  FakeRun run;
  Recorder recorder;
  Trainer trainer(settings(100), run.parts());
  trainer.add_observer(&recorder);
  trainer.save_checkpoint = [](int64_t) { return std::string("x"); };
  trainer.stop_requested = [&] { return run.data.state() == "6"; };
  CHECK(trainer.run(0) == Trainer::End::kStopped);
  CHECK(recorder.steps.size() == 3);
  CHECK(recorder.checkpoints == std::vector<int64_t>{3});
}

TEST_CASE("a checkpoint is written when the time since the one before is over") {
  FakeRun run;
  Recorder recorder;
  TrainerSettings timed = settings(3);
  timed.saves.every_s = 1e-9;
  Trainer trainer(timed, run.parts());
  trainer.add_observer(&recorder);
  trainer.save_checkpoint = [](int64_t) { return std::string("x"); };
  trainer.run(0);
  CHECK(recorder.checkpoints == std::vector<int64_t>{1, 2, 3});
}

TEST_CASE("a loss that is not finite names the step and the batch") {
  FakeRun run;
  run.model.poison = true;
  Trainer trainer(settings(3), run.parts());
  try {
    trainer.run(0);
    FAIL("no error");
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "numerics/not-finite");
    CHECK(error.exit_code() == s2s::ExitCode::kNumerics);
    CHECK(error.message().find("row0") != std::string::npos);
  }
}

TEST_CASE("a training source that ends is an error, not a shorter run") {
  FakeRun run;
  run.data = s2s::test::FakeData(6, 5);
  Trainer trainer(settings(10), run.parts());
  CHECK_THROWS_WITH_AS(trainer.run(0), doctest::Contains("[data/exhausted]"), s2s::Error);
}

TEST_CASE("losses of a step are normalized over all its micro-batches") {
  // Two micro-batches of three rows: the normalizer is six, whatever the split.
  FakeRun run;
  run.model.train(false);
  Recorder recorder;
  Trainer trainer(settings(1), run.parts());
  trainer.add_observer(&recorder);
  trainer.run(0);
  CHECK(recorder.steps[0].frames == 6);
  CHECK(recorder.steps[0].padded_frames == 10);
}

TEST_CASE("random numbers of a step depend on the seed and the micro-batch alone") {
  const auto losses = [](int64_t first_step, uint64_t seed) {
    FakeRun run;
    run.data.restore(std::to_string(2 * first_step));
    Recorder recorder;
    TrainerSettings some = settings(6);
    some.seed = seed;
    Trainer trainer(some, run.parts());
    trainer.add_observer(&recorder);
    trainer.run(first_step);
    return recorder.steps.at(0).loss;  // of initial values
  };
  const double straight = losses(0, 3);
  at::rand({17});
  CHECK(losses(0, 3) == straight);
  CHECK(losses(0, 4) != straight);
  CHECK(losses(1, 3) != straight);
}

TEST_CASE("one process numbers micro-batches as several ranks together do") {
  for (const int64_t size : {1, 2, 3}) {
    std::vector<int64_t> numbers;
    for (int64_t step = 0; step < 2; ++step) {
      for (int64_t index = 0; index < 6 / size; ++index) {
        for (int64_t rank = 0; rank < size; ++rank) {
          const s2s::MicroBatchPosition place = {step, index, 6 / size, rank, size};
          numbers.push_back(place.number());
        }
      }
    }
    for (size_t i = 0; i < numbers.size(); ++i) CHECK(numbers[i] == static_cast<int64_t>(i));
  }
}

TEST_CASE("an update without finite gradients is skipped, counted and reported with its batch") {
  FakeRun run;
  Recorder recorder;
  TrainerSettings some = settings(4);
  some.validate_every = 1;
  Trainer trainer(some, run.parts());
  trainer.add_observer(&recorder);
  std::vector<at::Tensor> weights;
  run.model.poison_gradients = true;
  trainer.validate = [&](int64_t steps_done) {
    weights.push_back(run.model.named_parameters()[0].tensor->detach().clone());
    run.model.poison_gradients = steps_done < 2;
    return s2s::ValidationReport();
  };
  trainer.run(0);
  CHECK(weights.at(1).equal(weights.at(0)));
  CHECK_FALSE(weights.at(2).equal(weights.at(1)));
  REQUIRE(recorder.steps.size() == 4);
  REQUIRE(recorder.skipped.size() == 2);
  CHECK(recorder.skipped[1].in_a_row == 2);
  CHECK(recorder.skipped[1].batch_ids == std::vector<std::string>{"row2", "row3"});
  CHECK(std::isnan(recorder.steps[0].grad_norm));
  CHECK(std::isfinite(recorder.steps[0].loss));
  CHECK(recorder.steps[3].skipped_steps == 2);
}

TEST_CASE("too many updates in a row without finite gradients end the run") {
  FakeRun run;
  run.model.poison_gradients = true;
  TrainerSettings some = settings(9);
  some.max_skipped = 3;
  Recorder recorder;
  Trainer trainer(some, run.parts());
  trainer.add_observer(&recorder);
  try {
    trainer.run(0);
    FAIL("no error");
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "numerics/not-finite");
    CHECK(error.exit_code() == s2s::ExitCode::kNumerics);
    CHECK(error.message().find("step 4 is nan, and the 3 updates before it") != std::string::npos);
    CHECK(error.message().find("row7") != std::string::npos);
  }
  CHECK(recorder.skipped.size() == 3);
}

TEST_CASE("float16 trains with a loss scale that halves at a skipped update and is kept") {
  TrainerSettings some = settings(3);
  some.precision = s2s::parse_precision("16-mixed", "here");
  FakeRun run;
  Recorder recorder;
  Trainer trainer(some, run.parts());
  trainer.add_observer(&recorder);
  run.model.poisoned_gradients_step = 0;
  trainer.run(0);
  CHECK(recorder.steps[0].loss_scale == 65536);
  CHECK(recorder.steps[1].loss_scale == 32768);
  CHECK(std::isfinite(recorder.steps[1].grad_norm));
  CHECK(recorder.steps[1].grad_norm < 100);  // of the loss, not of the scaled one
  FakeRun other;
  Trainer resumed(some, other.parts());
  resumed.restore(trainer.state());
  CHECK(resumed.state() == trainer.state());
  CHECK(trainer.state().find("\"skipped_steps\":1") != std::string::npos);
  resumed.restore("");  // of a checkpoint without one
  CHECK(resumed.state() == trainer.state());
}

TEST_CASE("a loss that is not finite never reaches a checkpoint") {
  for (const int64_t every : {3, 4, 9}) {  // at once, one step later, at the end of the run
    FakeRun run;
    run.model.poisoned_step = 2;
    TrainerSettings some = settings(9);
    some.saves.every_steps = {every};
    Recorder recorder;
    Trainer trainer(some, run.parts());
    trainer.add_observer(&recorder);
    trainer.save_checkpoint = [](int64_t) { return std::string("x"); };
    CHECK_THROWS_WITH_AS(trainer.run(0), doctest::Contains("the loss of step 3 is nan"),
                         s2s::Error);
    CHECK(recorder.checkpoints.empty());
    CHECK(recorder.steps.size() == 2);
  }
}

TEST_CASE("a device has the next step before the host reports one, a CPU has not") {
  FakeRun run;
  Recorder recorder;
  Trainer trainer(settings(5), run.parts());
  trainer.add_observer(&recorder);
  trainer.run(0);
  const size_t ahead = s2s::test::device().is_cpu() ? 0 : 1;
  REQUIRE(recorder.reported_at.size() == 5);
  for (size_t step = 0; step < 5; ++step) {
    CHECK(recorder.reported_at[step] == std::min<size_t>(step + ahead, 4));
    CHECK(recorder.steps[step].step == static_cast<int64_t>(step));
  }
}

TEST_CASE("updates in the backward are refused where the whole gradient is needed") {
  const auto message = [](const TrainerSettings& some, s2s::Optimizer* optimizer = nullptr) {
    FakeRun run;
    s2s::TrainerParts parts = run.parts();
    if (optimizer != nullptr) parts.optimizer = optimizer;
    try {
      Trainer(some, parts).run(0);
    } catch (const s2s::Error& error) {
      return error.id() + ": " + error.message();
    }
    return std::string("it was taken");
  };
  TrainerSettings fits = settings(1);
  fits.accumulate = 1;
  fits.update_in_backward = true;
  CHECK(message(fits) == "it was taken");
  TrainerSettings clips = fits, accumulates = fits, scales = fits;
  clips.max_grad_norm = 1;
  accumulates.accumulate = 2;
  scales.precision = s2s::parse_precision("16-mixed", "here");
  const std::string id = "config/update-in-backward: trainer.update_in_backward is true, but ";
  CHECK(message(clips).starts_with(id + "gradients are clipped"));
  CHECK(message(accumulates).starts_with(id + "gradients are accumulated"));
  CHECK(message(scales).starts_with(id + "losses are scaled"));
  s2s::test::FakeOptimizer plain;
  CHECK(message(fits, &plain).starts_with(id + "the optimizer takes all gradients at once"));
}

TEST_CASE("a precision that nobody knows is refused with those that are known") {
  try {
    s2s::parse_precision("fp8", "run.yaml:3");
    FAIL("it was taken");
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "config/precision");
    CHECK(std::string(error.what()).find("bf16-true, bf16-mixed") != std::string::npos);
  }
}

namespace {

/// All forwards, then all backwards, as the stages of a pipeline have them.
struct ForwardsFirst : s2s::test::FakeStrategy {
  void run_micro_batches(s2s::Model& model, const std::vector<s2s::Batch>& batches,
                         s2s::MicroBatchPasses& passes) override {
    std::vector<at::Tensor> losses;
    for (const s2s::Batch& batch : batches) {
      losses.push_back(
          passes.forward(static_cast<int64_t>(losses.size()), [&](const s2s::StepContext& context) {
            CHECK(context.micro_batches == 2);
            return model.training_loss(batch, context);
          }));
    }
    for (const at::Tensor& loss : losses) passes.backward(loss, {});
    ++num_steps;
  }
  int num_steps = 0;
};

}  // namespace

TEST_CASE("a strategy decides in which order the micro-batches of a step run") {
  const auto train = [](FakeRun& run, s2s::ParallelStrategy& strategy) {
    s2s::TrainerParts parts = run.parts();
    parts.strategy = &strategy;
    Recorder recorder;
    Trainer trainer(settings(4), parts);
    trainer.add_observer(&recorder);
    trainer.run(0);
    return recorder.steps;
  };
  FakeRun usual, other;
  ForwardsFirst order;
  const std::vector<s2s::StepReport> expected = train(usual, usual.strategy);
  const std::vector<s2s::StepReport> steps = train(other, order);
  CHECK(order.num_steps == 4);
  REQUIRE(steps.size() == expected.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    CHECK(steps[i].loss == expected[i].loss);
    CHECK(steps[i].grad_norm == expected[i].grad_norm);
  }
}

#include "train/trainer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "common/temporary_folder.h"
#include "core/train/fake_run.h"
#include "s2s/error.h"
#include "train/checkpoint.h"

namespace {

using s2s::Trainer;
using s2s::TrainerSettings;
using s2s::test::FakeRun;
using s2s::test::Recorder;
using s2s::test::TemporaryFolder;

TrainerSettings settings(int64_t max_steps, int64_t checkpoint_every = 0) {
  TrainerSettings out;
  out.max_steps = max_steps;
  out.accumulate = 2;
  out.checkpoint_every = checkpoint_every;
  return out;
}

}  // namespace

TEST_CASE("a run resumed from a checkpoint repeats the uninterrupted run bit for bit") {
  TemporaryFolder folder;
  const s2s::CheckpointFolder checkpoints(folder.path(), {});
  Recorder straight, resumed;
  at::manual_seed(5);
  {
    FakeRun run;
    Trainer trainer(settings(9, 4), run.parts());
    trainer.add_observer(&straight);
    trainer.save_checkpoint = [&](int64_t done) {
      return checkpoints.save(run.model, run.optimizer, {done, run.data.state()});
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
  trainer.stop_requested = [&] { return recorder.steps.size() == 3; };
  CHECK(trainer.run(0) == Trainer::End::kStopped);
  CHECK(recorder.steps.size() == 3);
  CHECK(recorder.checkpoints == std::vector<int64_t>{3});
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

TEST_CASE("losses of a step are normalised over all its micro-batches") {
  // Two micro-batches of three rows: the normaliser is six, whatever the split.
  FakeRun run;
  run.model.train(false);
  Recorder recorder;
  Trainer trainer(settings(1), run.parts());
  trainer.add_observer(&recorder);
  trainer.run(0);
  CHECK(recorder.steps[0].frames == 6);
  CHECK(recorder.steps[0].padded_frames == 10);
}

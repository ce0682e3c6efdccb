// When a run stops: in time for its save, before a validation that nobody can wait for, early.

#include <doctest/doctest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/train/fake_run.h"

using namespace s2s;
using namespace s2s::test;

namespace {

TrainerSettings steps_of(int64_t max_steps) {
  TrainerSettings some;
  some.max_steps = max_steps;
  some.seed = 1;
  some.device = device();
  return some;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void sleep_s(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

TEST_CASE("a run with a time limit stops when one more step and a save like the last do not fit") {
  FakeRun run;
  TrainerSettings some = steps_of(100000);
  some.max_time_s = 3;
  some.saves.every_steps = {5};
  Trainer trainer(some, run.parts());
  std::vector<int64_t> saved;
  trainer.save_checkpoint = [&](int64_t steps_done) {
    saved.push_back(steps_done);
    sleep_s(1);
    return std::string("somewhere");
  };
  const auto begin = std::chrono::steady_clock::now();
  CHECK(trainer.run(0) == Trainer::End::kStopped);
  const double taken_s = seconds_since(begin);
  // A limit that is only looked at afterwards would be exceeded by a save of a second.
  CHECK(saved.size() >= 2);
  CHECK(taken_s < 3.6);
}

TEST_CASE("time that a run took before its first step counts for its limit") {
  FakeRun run;
  TrainerSettings some = steps_of(1000);
  some.max_time_s = 3600;
  some.used_time_s = 3601;
  Trainer trainer(some, run.parts());
  trainer.save_checkpoint = [](int64_t) { return std::string("somewhere"); };
  Recorder recorder;
  trainer.add_observer(&recorder);
  CHECK(trainer.run(0) == Trainer::End::kStopped);
  CHECK(recorder.checkpoints == std::vector<int64_t>{1});
}

TEST_CASE("who stops a run waits for no validation; it follows when the run goes on") {
  std::vector<int64_t> validated;
  const auto validate = [&](int64_t steps_done) {
    validated.push_back(steps_done);
    return ValidationReport{steps_done, {}, {}, {}};
  };
  TrainerSettings some = steps_of(8);
  some.validate_every = 4;
  std::string state;
  {
    FakeRun run;
    Trainer trainer(some, run.parts());
    trainer.validate = validate;
    trainer.stop_requested = [&] { return run.data.state() == "4"; };
    CHECK(trainer.run(0) == Trainer::End::kStopped);
    CHECK(validated.empty());
    state = trainer.state();
    for (const auto& value : nlohmann::json::parse(state)) CHECK(value.is_number());
  }
  FakeRun run;
  run.data.restore("4");
  Trainer trainer(some, run.parts());
  trainer.restore(state);
  trainer.validate = validate;
  CHECK(trainer.run(4) == Trainer::End::kFinished);
  CHECK(validated == std::vector<int64_t>{4, 8});
  CHECK(trainer.state().find("owes") == std::string::npos);
}

TEST_CASE("a run that ends early has finished, with a checkpoint of its last step") {
  FakeRun run;
  TrainerSettings some = steps_of(100);
  some.validate_every = 3;
  Trainer trainer(some, run.parts());
  trainer.validate = [&](int64_t steps_done) {
    if (steps_done == 6) trainer.finish_early();
    return ValidationReport{steps_done, {}, {}, {}};
  };
  trainer.save_checkpoint = [](int64_t) { return std::string("somewhere"); };
  Recorder recorder;
  trainer.add_observer(&recorder);
  CHECK(trainer.run(0) == Trainer::End::kFinished);
  CHECK(recorder.checkpoints == std::vector<int64_t>{6});
}

TEST_CASE("a moving average rules an update in the backward out") {
  FakeRun run;
  TrainerSettings some = steps_of(1);
  some.update_in_backward = true;
  some.keeps_average = true;
  CHECK_THROWS_WITH_AS(check_update_in_backward(some), doctest::Contains("exp_manager.ema"), Error);
}

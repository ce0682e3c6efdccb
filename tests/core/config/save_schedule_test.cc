#include "config/save_schedule.h"

#include <doctest/doctest.h>

#include <limits>

using s2s::CheckpointBlock;
using s2s::first_save_text;
using s2s::save_schedule;
using s2s::save_warning;
using s2s::SaveSchedule;
using s2s::TrainerBlock;

namespace {

std::vector<int64_t> due_until(const SaveSchedule& schedule, int64_t last) {
  std::vector<int64_t> steps;
  for (int64_t done = 1; done <= last; ++done) {
    if (schedule.is_due(done)) steps.push_back(done);
  }
  return steps;
}

}  // namespace

TEST_CASE("a run that says nothing saves at validations, pseudo epochs and every half hour") {
  TrainerBlock trainer;
  CHECK(due_until(save_schedule({}, trainer), 100).empty());
  CHECK(save_schedule({}, trainer).every_s == 1800);
  trainer.val_check_interval = 40;
  trainer.limit_train_batches = 90;
  trainer.accumulate_grad_batches = 3;
  CHECK(due_until(save_schedule({}, trainer), 100) == std::vector<int64_t>{30, 40, 60, 80, 90});
  trainer.limit_train_batches = 91;  // the last batch has a step of its own
  CHECK(due_until(save_schedule({}, trainer), 65) == std::vector<int64_t>{31, 40, 62});
  CHECK(save_warning(save_schedule({}, trainer), 10).empty());
}

TEST_CASE("a run that says when saves then, and not otherwise") {
  TrainerBlock trainer;
  trainer.val_check_interval = 10;
  CheckpointBlock saving;
  saving.every_n_train_steps = 25;
  CHECK(due_until(save_schedule(saving, trainer), 60) == std::vector<int64_t>{25, 50});
  CHECK(save_schedule(saving, trainer).every_s == 0);
  saving.train_time_interval = "00:01:00:00";
  CHECK(save_schedule(saving, trainer).every_s == 3600);
  saving.every_n_train_steps.reset();
  CHECK(due_until(save_schedule(saving, trainer), 60).empty());
}

TEST_CASE("epochs are pseudo epochs, or validations where those have no length") {
  TrainerBlock trainer;
  CheckpointBlock saving;
  saving.every_n_epochs = 2;
  CHECK(due_until(save_schedule(saving, trainer), 100).empty());
  CHECK(!save_warning(save_schedule(saving, trainer), 100).empty());
  trainer.val_check_interval = 10;
  CHECK(due_until(save_schedule(saving, trainer), 50) == std::vector<int64_t>{20, 40});
  trainer.limit_train_batches = 15;
  CHECK(due_until(save_schedule(saving, trainer), 70) == std::vector<int64_t>{30, 60});
}

TEST_CASE("a schedule that writes nothing before the last step is warned of") {
  CheckpointBlock saving;
  saving.every_n_train_steps = 500;
  const SaveSchedule schedule = save_schedule(saving, {});
  CHECK(save_warning(schedule, 501).empty());
  CHECK(save_warning(schedule, 500).find("no checkpoint is written before the last step (500)") ==
        0);
}

TEST_CASE("the first save is named, whatever triggers it") {
  CheckpointBlock saving;
  saving.every_n_train_steps = 1000;
  TrainerBlock trainer;
  CHECK(first_save_text(save_schedule(saving, trainer), 0, 9000) == "after step 1000 of 9000");
  CHECK(first_save_text(save_schedule(saving, trainer), 1000, 9000) == "after step 2000 of 9000");
  CHECK(first_save_text(save_schedule(saving, trainer), 8500, 8700) == "after step 8700 of 8700");
  saving.every_n_train_steps = std::numeric_limits<int64_t>::max();
  CHECK(first_save_text(save_schedule(saving, trainer), 5, 9000) == "after step 9000 of 9000");
  saving.train_time_interval = "00:04:00:00";
  CHECK(first_save_text(save_schedule(saving, trainer), 0, 9000) ==
        "after step 9000 of 9000, or after 4 hours if that comes first");
  trainer.val_check_interval = 500;
  CHECK(first_save_text(save_schedule({}, trainer), 0, 9000) ==
        "after step 500 of 9000, or after 30 minutes if that comes first");
}

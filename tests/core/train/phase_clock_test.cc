#include "train/phase_clock.h"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "core/train/fake_run.h"

using namespace s2s;
using namespace s2s::test;

namespace {

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

class Counted : public CollectiveObserver {
 public:
  void started(const CollectiveRecord&, const GroupPlace&) override { ++num_started; }
  void waiting(const CollectiveRecord&) override { ++num_waiting; }
  void finished(const CollectiveRecord&, bool) override { ++num_finished; }
  int num_started = 0, num_waiting = 0, num_finished = 0;
};

}  // namespace

TEST_CASE("waiting for a collective counts as communication, not for the phase that waits") {
  Counted next;
  CommWaits waits(&next);
  PhaseClock clock(at::kCPU, &waits);
  CollectiveRecord record;
  record.group = "world";
  clock.begin(TrainingPhase::kForward);
  sleep_ms(4);
  waits.started(record, {});
  waits.waiting(record);
  sleep_ms(20);
  waits.finished(record, false);
  clock.begin(TrainingPhase::kBackward);
  record.sequence = 1;
  waits.started(record, {});
  waits.finished(record, false);  // dropped without a wait
  sleep_ms(4);
  clock.begin(TrainingPhase::kReport);
  const PhaseTimes times = PhaseClock::read(clock.take());
  CHECK(times.communication_s >= 0.02);
  CHECK(times.of(TrainingPhase::kForward) >= 0.004);
  CHECK(times.of(TrainingPhase::kForward) < times.communication_s);
  CHECK(times.of(TrainingPhase::kBackward) >= 0.004);
  CHECK(times.of(TrainingPhase::kReport) == 0);
  CHECK(next.num_started == 2);
  CHECK(next.num_waiting == 1);
  CHECK(next.num_finished == 2);
}

TEST_CASE("every moment of a run belongs to a phase; each step's times add up to the step's") {
  FakeRun run;
  TrainerSettings settings;
  settings.max_steps = 5;
  settings.accumulate = 2;
  settings.validate_every = 2;
  settings.device = device();
  Trainer trainer(settings, run.parts());
  Recorder recorder;
  trainer.add_observer(&recorder);
  trainer.validate = [](int64_t) {
    sleep_ms(10);
    return ValidationReport();
  };
  trainer.save_checkpoint = [](int64_t) {
    sleep_ms(10);
    return std::string("folder");
  };
  trainer.run(0);
  const RunTimes& times = trainer.times();
  CHECK(times.steps == 5);
  CHECK(times.phases.sum() == doctest::Approx(times.wall_s).epsilon(0.02));
  CHECK(times.phases.of(TrainingPhase::kValidate) >= 0.02);
  CHECK(times.phases.of(TrainingPhase::kSave) >= 0.01);
  if (!device().is_cpu()) return;  // a device's step ends later than it is queued
  double steps_s = 0, phases_s = 0;
  for (const StepReport& step : recorder.steps) {
    steps_s += step.step_time_s;
    for (const TrainingPhase phase :
         {TrainingPhase::kData, TrainingPhase::kToDevice, TrainingPhase::kForward,
          TrainingPhase::kBackward, TrainingPhase::kUpdate}) {
      CHECK(step.phases.of(phase) > 0);
      phases_s += step.phases.of(phase);
    }
  }
  // The steps take a fraction of a millisecond: reading their numbers is a part of them.
  CHECK(phases_s <= steps_s);
  CHECK(phases_s > 0.5 * steps_s);
}

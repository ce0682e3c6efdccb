#pragma once
// What the flight recorder knows of a training.

#include <cstdint>
#include <string>

#include "flight/flight_recorder.h"
#include "train/step_report.h"
#include "train/trainer.h"

namespace s2s::run {

/// Reports the activity of the trainer to the flight recorder.
class RecordedSteps : public RunObserver {
 public:
  /// `recorder`: null when nothing is recorded. `first_step`: 0-based first step of this start.
  RecordedSteps(FlightRecorder* recorder, const Trainer& trainer, int64_t first_step)
      : recorder_(recorder), first_step_(first_step) {
    if (recorder != nullptr) recorder->set_stop_probe(trainer.stop_requested);
  }
  ~RecordedSteps() override {
    if (recorder_ == nullptr) return;
    recorder_->set_phase("");
    recorder_->set_stop_probe({});
  }
  RecordedSteps(const RecordedSteps&) = delete;
  RecordedSteps& operator=(const RecordedSteps&) = delete;

  void on_phase(int64_t step, TrainingPhase phase) override {
    if (recorder_ == nullptr) return;
    if (step > first_step_) recorder_->first_step_has_ended();
    recorder_->set_step(step + 1);
    recorder_->set_phase(to_string(phase));
  }
  void on_batch(int64_t, const std::string& ids) override {
    if (recorder_ != nullptr) recorder_->set_batch(ids);
  }

 private:
  FlightRecorder* recorder_;
  int64_t first_step_;
};

}  // namespace s2s::run

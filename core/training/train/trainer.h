#pragma once
// The training loop: the order of steps, validations and checkpoints, and when to stop. StepRunner
// computes a step, StepReporter reads and reports it, BadStepKeeper saves one that went wrong. The
// trainer reads no options: all settings are fixed before it starts. Each rank has one Trainer, and
// all ranks take the same steps.
//
// On a device, the host is one step ahead: it reports a step when the next one has been queued, and
// before a validation or a checkpoint (decision record 0026).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "train/step_reporter.h"
#include "train/step_runner.h"

namespace s2s {

class Trainer {
 public:
  /// Errors: [config/update-in-backward].
  Trainer(TrainerSettings settings, TrainerParts parts);
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  void add_observer(RunObserver* observer) { events_.add(observer); }
  /// Writes a checkpoint after this many steps; returns its folder.
  std::function<std::string(int64_t steps_done)> save_checkpoint;
  std::function<ValidationReport(int64_t steps_done)> validate;
  /// Saves a step whose loss or gradients are not finite, or whose loss is a spike. Returns the
  /// file, or "". Called on all ranks. On a CPU, the model has the weights before the update.
  BadStepKeeper::Save save_step;
  /// Returns true once the user has asked this rank to stop.
  std::function<bool()> stop_requested;
  /// Returns how long the last save took. Not set: as long as `save_checkpoint` took.
  std::function<double()> last_save_s;

  enum class End { kFinished, kStopped };
  /// Trains from `first_step` on. When any rank is asked to stop, or one more step and a save like
  /// the last one would exceed max_time_s, all ranks finish the step and write a checkpoint. A
  /// validation that is due then follows when the run is resumed.
  /// Errors: [numerics/not-finite], [data/exhausted], and those of the parts.
  End run(int64_t first_step);
  /// Ends the run after this step, as after the last one. All ranks must call it in the same step.
  void finish_early() { is_finished_early_ = true; }

  /// The times of the last `run`.
  const RunTimes& times() const { return times_; }

  /// State of the trainer that is not part of the model, the optimizer or the data: a short text,
  /// equal on all ranks. `restore` accepts "" for the initial state.
  std::string state() const;
  void restore(const std::string& state);
  /// The run stopped before a validation that was due: `run` begins with it.
  bool owes_validation() const { return owes_validation_; }

 private:
  void train_step(int64_t step);
  void report_queued_step();
  /// `validates`: a validation that is due after this step has not been done.
  RankWishes wishes(bool validates = true) const;
  bool is_late(double now, bool validates) const;
  bool is_validation_due(int64_t steps_done) const;
  bool is_last(int64_t steps_done) const;
  void validate_after(int64_t steps_done);
  void write_checkpoint(int64_t steps_done);

  TrainerSettings settings_;
  TrainerParts parts_;
  RunEvents events_;
  BadStepKeeper bad_steps_;
  StepRunner steps_;
  StepReporter reports_;
  bool is_alone_;
  RunTimes times_;
  std::optional<QueuedStep> queued_;
  double started_s_ = 0;
  double saved_s_ = 0;
  int64_t done_ = 0;                      // steps that have begun
  double save_s_ = 0, validation_s_ = 0;  // what the last one took
  bool owes_validation_ = false;          // the run stopped before a validation that was due
  bool is_finished_early_ = false;
  RankWishes agreed_;  // the same on all ranks
};

}  // namespace s2s

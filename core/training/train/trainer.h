#pragma once
// The training loop. It uses a model, data, a strategy, an optimizer with its schedule, and
// checkpoints. It reads no options: all settings are fixed before it starts. Each rank has one
// Trainer, and all ranks take the same steps.
//
// On a device, the host is one step ahead: it reports a step when the next one has been queued, and
// before a validation or a checkpoint (decision record 0026).

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/side_stream.h"
#include "s2s/kinds/data_source.h"
#include "s2s/kinds/model.h"
#include "s2s/kinds/optimizer.h"
#include "s2s/kinds/schedule.h"
#include "s2s/kinds/strategy.h"
#include "train/backward_update.h"
#include "train/gradient_update.h"
#include "train/loss_spikes.h"
#include "train/phase_clock.h"
#include "train/saved_step.h"
#include "train/step_report.h"
#include "train/step_sums.h"
#include "train/trainer_settings.h"

namespace s2s {

/// The objects that the trainer uses. They are not owned.
struct TrainerParts {
  Model* model = nullptr;
  DataSource* data = nullptr;
  ParallelStrategy* strategy = nullptr;
  Optimizer* optimizer = nullptr;
  Schedule* schedule = nullptr;
  CommWaits* comm_waits = nullptr;  // of the run's collectives; may be null
};

class Trainer {
 public:
  /// Errors: [config/update-in-backward].
  Trainer(TrainerSettings settings, TrainerParts parts);

  void add_observer(RunObserver* observer) { observers_.push_back(observer); }
  /// Writes a checkpoint after this many steps; returns its folder.
  std::function<std::string(int64_t steps_done)> save_checkpoint;
  std::function<ValidationReport(int64_t steps_done)> validate;
  /// Saves a step whose loss or gradients are not finite, or whose loss is a spike. Returns the
  /// file, or "". Called on all ranks. On a CPU, the model has the weights before the update.
  std::function<std::string(SavedStep&)> save_step;
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
  /// A step whose work has been given to the device. The host has not read its numbers.
  struct QueuedStep {
    StepReport report;  // what the host knows
    std::string batch_ids;
    std::vector<Batch> batches;  // as long as save_step may be called
    std::string data_state;      // before them
    double frames = 0;           // on all data ranks
    std::string saved;           // the file of save_step
    double start_s = 0;
    StepSums sums;
    LateNumbers numbers;  // of `sums`, then the gradient norm and the loss scale
    std::vector<PhaseClock::Mark> marks;
  };

  void update_in_backward();
  void begin_phase(int64_t step, TrainingPhase phase);
  void end_run(int64_t steps_done);
  QueuedStep queue_step(int64_t step);
  void train_step(int64_t step);
  void report_queued_step();
  std::vector<Batch> next_batches(StepReport& report);
  Batch on_device(const Batch& batch) const;
  LossSums accumulate_gradients(const std::vector<Batch>& batches, double frames,
                                const StepReport& report);
  LateNumbers update(const StepReport& report, const StepSums& sums);
  void skip_update(QueuedStep& step, double own_loss);
  bool keeps_steps() const { return save_step && num_saved_ < settings_.save_bad_steps; }
  static std::string fault_text(const char* what, double value);
  void keep_spike(QueuedStep& step);
  void hold_after_bad_loss(const StepSums& sums);
  void keep_step(QueuedStep& step, const std::string& reason, double own_loss);
  std::vector<std::string> ids_of_all_ranks(const std::string& own) const;
  /// `validates`: a validation that is due after this step has not been done.
  RankWishes wishes(bool validates = true) const;
  bool is_late(double now, bool validates) const;
  bool is_validation_due(int64_t steps_done) const;
  bool is_last(int64_t steps_done) const;
  void validate_after(int64_t steps_done);
  void write_checkpoint(int64_t steps_done);

  TrainerSettings settings_;
  TrainerParts parts_;
  std::vector<RunObserver*> observers_;
  LossScale loss_scale_;
  GradientUpdate update_;
  std::unique_ptr<BackwardUpdate> backward_update_;  // null: the update follows the backward
  SideStream copies_;                                // of batches
  PhaseClock clock_;
  RunTimes times_;
  bool is_alone_;
  std::optional<QueuedStep> queued_;
  int64_t num_skipped_ = 0;
  int64_t num_skipped_in_a_row_ = 0;
  int64_t num_saved_ = 0;  // calls of save_step
  LossSpikes spikes_{settings_.loss_spike};
  double started_s_ = 0;
  double saved_s_ = 0;
  double reported_s_ = 0;                              // when the last step was reported
  int64_t done_ = 0;                                   // steps that have begun
  double step_s_ = 0, save_s_ = 0, validation_s_ = 0;  // what the last one took
  bool owes_validation_ = false;  // the run stopped before a validation that was due
  bool is_finished_early_ = false;
  at::Tensor hold_;    // on a device: above 0 after a loss that is not finite
  RankWishes agreed_;  // the same on all ranks
};

}  // namespace s2s

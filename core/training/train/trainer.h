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
#include "config/save_schedule.h"
#include "s2s/kinds/data_source.h"
#include "s2s/kinds/optimizer.h"
#include "s2s/kinds/schedule.h"
#include "s2s/kinds/speech_model.h"
#include "s2s/kinds/strategy.h"
#include "train/backward_update.h"
#include "train/gradient_update.h"
#include "train/phase_clock.h"
#include "train/precision.h"
#include "train/step_report.h"
#include "train/step_sums.h"

namespace s2s {

/// The position of a micro-batch in a run. The random numbers of a training step depend only on the
/// seed of the run and on this position. They do not depend on the layout or on earlier draws.
struct MicroBatchPlace {
  int64_t step = 0;        // optimizer step, 0-based
  int64_t index = 0;       // 0-based micro-batch of this rank in the step
  int64_t accumulate = 1;  // micro-batches per step on each rank
  int64_t data_rank = 0;
  int64_t data_size = 1;
  /// The index of this micro-batch if a single process read all data.
  int64_t number() const { return (step * accumulate + index) * data_size + data_rank; }
};

/// Seeds LibTorch's default generators for one micro-batch.
void seed_generators(uint64_t seed, const MicroBatchPlace& place);

struct TrainerSettings {
  int64_t max_steps = 0;
  int64_t accumulate = 1;           // micro-batches per optimizer step, on each rank
  double max_grad_norm = 0;         // 0: no clipping
  bool update_in_backward = false;  // each parameter when its gradient is complete
  int64_t max_skipped = 20;         // updates in a row without finite gradients
  int64_t validate_every = 0;       // optimizer steps; 0: never
  SaveSchedule saves;               // checkpoints during training; one is always written at the end
  double max_time_s = 0;            // wall clock; 0: no limit
  uint64_t seed = 0;                // for random numbers in the model
  double peak_flops = 0;            // of all ranks, in a second; 0: unknown
  Precision precision;
  at::Device device = at::kCPU;
};

/// The objects that the trainer uses. They are not owned.
/// Errors: [config/update-in-backward] when other settings rule `update_in_backward` out.
void check_update_in_backward(const TrainerSettings& settings);

struct TrainerParts {
  SpeechModel* model = nullptr;
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
  /// Returns true once the user has asked this rank to stop.
  std::function<bool()> stop_requested;

  enum class End { kFinished, kStopped };
  /// Trains from `first_step` on. When any rank is asked to stop or exceeds max_time_s, all ranks
  /// finish the step and write a checkpoint.
  /// Errors: [numerics/not-finite], [data/exhausted], and those of the parts.
  End run(int64_t first_step);

  /// The times of the last `run`.
  const RunTimes& times() const { return times_; }

  /// State of the trainer that is not part of the model, the optimizer or the data: a short text,
  /// equal on all ranks. `restore` accepts "" for the initial state.
  std::string state() const;
  void restore(const std::string& state);

 private:
  /// A step whose work has been given to the device. The host has not read its numbers.
  struct QueuedStep {
    StepReport report;  // what the host knows
    std::string batch_ids;
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
  void skip_update(const QueuedStep& step);
  std::vector<std::string> ids_of_all_ranks(const std::string& own) const;
  RankWishes wishes() const;
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
  double started_s_ = 0;
  double saved_s_ = 0;
  double reported_s_ = 0;  // when the last step was reported
  RankWishes agreed_;      // the same on all ranks
};

}  // namespace s2s

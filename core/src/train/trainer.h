#pragma once
// Trainer: the loop. It sees five nouns (model, data, strategy, schedule with its optimizer,
// checkpoints) and no option names; everything is decided before it starts.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "s2s/data_source.h"
#include "s2s/speech_model.h"
#include "s2s/training.h"
#include "train/precision.h"
#include "train/step_report.h"

namespace s2s {

struct TrainerSettings {
  int64_t max_steps = 0;
  int64_t accumulate = 1;        // micro-batches per optimizer step
  double max_grad_norm = 0;      // 0: no clipping
  int64_t validate_every = 0;    // optimizer steps; 0: never
  int64_t checkpoint_every = 0;  // optimizer steps; 0: at the end only
  double max_time_s = 0;         // wall clock; 0: no limit
  Precision precision;
  at::Device device = at::kCPU;
};

/// The five nouns. Not owned.
struct TrainerParts {
  SpeechModel* model = nullptr;
  DataSource* data = nullptr;
  ParallelStrategy* strategy = nullptr;
  Optimizer* optimizer = nullptr;
  Schedule* schedule = nullptr;
};

class Trainer {
 public:
  Trainer(TrainerSettings settings, TrainerParts parts);

  void add_observer(RunObserver* observer) { observers_.push_back(observer); }
  /// Writes a checkpoint after this many steps; returns its folder.
  std::function<std::string(int64_t steps_done)> save_checkpoint;
  /// Runs all validation sets.
  std::function<ValidationReport(int64_t steps_done)> validate;
  /// True once the user asked to stop.
  std::function<bool()> stop_requested;

  enum class End { kFinished, kStopped };
  /// Trains from `first_step` on. On a stop it finishes the step and writes a checkpoint.
  /// Errors: [numerics/not-finite], [data/exhausted], and those of the parts.
  End run(int64_t first_step);

 private:
  StepReport train_step(int64_t step);
  std::vector<Batch> next_batches(int64_t step);
  void accumulate_gradients(const std::vector<Batch>& batches, int64_t step, StepReport& report);
  void write_checkpoint(int64_t steps_done);

  TrainerSettings settings_;
  TrainerParts parts_;
  std::vector<RunObserver*> observers_;
};

}  // namespace s2s

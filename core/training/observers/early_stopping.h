#pragma once
// Ends a run when a validation metric no longer improves
// (exp_manager.create_early_stopping_callback).

#include <functional>
#include <string>

#include "config/run_blocks.h"
#include "train/step_report.h"

namespace s2s::run {

/// Compares a metric of each validation with the best one so far. All ranks get the same
/// validations, and so decide alike.
/// Source: lightning/pytorch/callbacks/early_stopping.py, _evaluate_stopping_criteria.
class EarlyStopping : public RunObserver {
 public:
  /// Does nothing unless `settings` switch it on. `finish` ends the run after the step; it gets the
  /// reason. `warn` is called once if no validation has the metric.
  EarlyStopping(const ExpManagerBlock& settings,
                std::function<void(const std::string& reason)> finish,
                std::function<void(const std::string&)> warn);

  void on_validation(const ValidationReport& report) override;

  /// Adds its own state to that of the trainer, for checkpoints.
  std::string add_state(const std::string& trainer_state) const;
  /// Continues from such a state, and ends the run at once if it had ended.
  void restore(const std::string& trainer_state);

 private:
  std::string judge(double value);
  bool is_better(double value, double than) const;

  bool is_on_;
  EarlyStoppingBlock settings_;
  std::function<void(const std::string&)> finish_;
  std::function<void(const std::string&)> warn_;
  double best_;
  int64_t num_waits_ = 0;  // validations in a row without improvement
  bool has_ended_ = false;
};

}  // namespace s2s::run

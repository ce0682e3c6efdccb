#pragma once
// What checkpoints need of the steps of a run: a save beside training is completed, and a number of
// the validations says which are the best.

#include <functional>
#include <optional>
#include <string>

#include "checkpoint/checkpoint.h"
#include "train/step_report.h"

namespace s2s {

/// A number of a validation by NeMo's names: `val_NAME` is the mean over the sets that have it,
/// `val_NAME_SET` that of one set; `val_` may be left out. Nothing when there is no such number.
std::optional<double> find_monitored(const ValidationReport& report, const std::string& monitor);

/// On every rank, after each step: polls the folder; at the end: finishes.
class CheckpointObserver : public RunObserver {
 public:
  /// monitor: "" for none. `warn` hears, once, that no validation has that number.
  CheckpointObserver(CheckpointFolder& checkpoints, std::string monitor,
                     std::function<void(const std::string&)> warn);
  void on_step(const StepReport& report) override;
  void on_validation(const ValidationReport& report) override;
  void on_end(int64_t steps_done) override;

  /// The number, when it was measured after just these steps.
  std::optional<double> monitored(int64_t steps_done) const;

 private:
  CheckpointFolder& checkpoints_;
  std::string monitor_;
  std::function<void(const std::string&)> warn_;
  int64_t step_ = -1;
  std::optional<double> value_;
};

}  // namespace s2s

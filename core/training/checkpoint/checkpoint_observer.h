#pragma once
// Connects checkpoints to the steps of a run: completes asynchronous saves, and records the
// monitored metric that selects the best checkpoints.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "checkpoint/checkpoint.h"
#include "train/step_report.h"

namespace s2s {

/// Returns a validation metric by its NeMo name. `val_NAME` is the mean over the sets that have it,
/// `val_NAME_SET` the value of one set. The prefix `val_` is optional. Returns nothing when there
/// is no such metric.
std::optional<double> find_monitored(const ValidationReport& report, const std::string& monitor);

/// On every rank: polls the checkpoint folder after each step, and finishes it at the end.
class CheckpointObserver : public RunObserver {
 public:
  /// `monitor`: "" for none. `warn` is called once if no validation has the metric.
  CheckpointObserver(CheckpointFolder& checkpoints, std::string monitor,
                     std::function<void(const std::string&)> warn);
  void on_step(const StepReport& report) override;
  void on_validation(const ValidationReport& report) override;
  void on_end(int64_t steps_done) override;

  /// Returns the metric if it was measured after exactly this many steps.
  std::optional<double> monitored(int64_t steps_done) const;
  /// Returns the numbers of the newest validation by their NeMo names, for names of checkpoints.
  const std::map<std::string, double>& numbers() const { return numbers_; }

 private:
  CheckpointFolder& checkpoints_;
  std::string monitor_;
  std::function<void(const std::string&)> warn_;
  int64_t step_ = -1;
  std::optional<double> value_;
  std::map<std::string, double> numbers_;
};

}  // namespace s2s

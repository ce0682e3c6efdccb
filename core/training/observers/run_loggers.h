#pragma once
// Sends what a run reports to the plugins of kind `logger`.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "s2s/kinds/logger.h"
#include "train/step_report.h"

namespace s2s {

struct NamedLogger {
  std::string name;
  std::unique_ptr<RunLogger> logger;
};

/// Sends the values of each step and of each validation to the loggers. The names are those of
/// metrics.jsonl, but the loss is `train_loss`. Validation values are named as in `monitor`:
/// val_NAME_SET, and val_NAME for the mean over the sets. Examples are tagged val_SET/INDEX/...,
/// histograms parameters/NAME. When a logger throws, `warn` receives the error, the logger gets
/// nothing more, and training continues.
class RunLoggers : public RunObserver {
 public:
  RunLoggers(std::vector<NamedLogger> loggers, std::function<void(const std::string&)> warn);

  /// Call it once, before the first step.
  void start(const LoggedRun& run);

  void on_step(const StepReport& report) override;
  void on_validation(const ValidationReport& report) override;
  void on_checkpoint(int64_t steps_done, const std::string& folder) override;
  void on_end(int64_t steps_done) override;

 private:
  void log(int64_t step, const std::map<std::string, double>& values);
  void log_example(int64_t step, const std::string& tag, const ValidationExample& example);
  void flush();
  void each(const std::function<void(RunLogger&)>& call);

  std::vector<NamedLogger> loggers_;
  std::function<void(const std::string&)> warn_;
  int64_t max_steps_ = 0;
};

}  // namespace s2s

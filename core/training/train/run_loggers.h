#pragma once
// Sends the values of metrics.jsonl to the plugins of kind `logger`.

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
/// metrics.jsonl; validation values are named val_NAME_SET, as in `monitor`. When a logger throws,
/// `warn` receives the error, the logger gets no further values, and training continues.
class RunLoggers : public RunObserver {
 public:
  RunLoggers(std::vector<NamedLogger> loggers, std::function<void(const std::string&)> warn);

  void on_step(const StepReport& report) override;
  void on_validation(const ValidationReport& report) override;
  void on_checkpoint(int64_t steps_done, const std::string& folder) override;
  void on_end(int64_t steps_done) override;

 private:
  void log(int64_t step, const std::map<std::string, double>& values);
  void flush();
  void each(const std::function<void(RunLogger&)>& call);

  std::vector<NamedLogger> loggers_;
  std::function<void(const std::string&)> warn_;
};

}  // namespace s2s

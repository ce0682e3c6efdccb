#pragma once
// The loggers of plugins (kind `logger`), which get the numbers of metrics.jsonl.

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

/// Hands each step's and each validation's numbers on, under the names of metrics.jsonl; those of
/// validations as `monitor` has them: val_NAME_SET. A logger that throws is told of by `warn` and
/// gets nothing more: training goes on.
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

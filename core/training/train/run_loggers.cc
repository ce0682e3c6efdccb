#include "train/run_loggers.h"

#include <fmt/format.h>

#include "train/run_folder.h"

namespace s2s {

RunLoggers::RunLoggers(std::vector<NamedLogger> loggers,
                       std::function<void(const std::string&)> warn)
    : loggers_(std::move(loggers)), warn_(std::move(warn)) {}

void RunLoggers::on_step(const StepReport& report) {
  if (loggers_.empty()) return;
  std::map<std::string, double> values;
  for (const auto& [name, value] : numbers_of(report)) {
    if (name != "step") values[name] = value;
  }
  log(report.step + 1, values);
}

void RunLoggers::on_validation(const ValidationReport& report) {
  std::map<std::string, double> values;
  for (const auto& [set, metrics] : report.sets) {
    for (const auto& [name, value] : metrics) values["val_" + name + "_" + set] = value;
  }
  log(report.step, values);
}

void RunLoggers::on_checkpoint(int64_t, const std::string&) { flush(); }

void RunLoggers::on_end(int64_t) { flush(); }

void RunLoggers::log(int64_t step, const std::map<std::string, double>& values) {
  each([&](RunLogger& logger) { logger.log(step, values); });
}

void RunLoggers::flush() {
  each([](RunLogger& logger) { logger.flush(); });
}

void RunLoggers::each(const std::function<void(RunLogger&)>& call) {
  std::erase_if(loggers_, [&](const NamedLogger& named) {
    try {
      call(*named.logger);
      return false;
    } catch (const std::exception& error) {
      warn_(fmt::format("logger {}: {}\n  it receives no further values from this run", named.name,
                        error.what()));
      return true;
    }
  });
}

}  // namespace s2s

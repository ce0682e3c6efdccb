#include "checkpoint/checkpoint_observer.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

namespace s2s {
namespace {

constexpr std::string_view kPrefix = "val_";

std::string names_text(const ValidationReport& report) {
  std::set<std::string> names;
  for (const auto& [set, numbers] : report.sets) {
    for (const auto& [name, value] : numbers) names.insert(std::string(kPrefix) + name);
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::optional<double> find_monitored(const ValidationReport& report, const std::string& monitor) {
  const std::string wanted =
      monitor.starts_with(kPrefix) ? monitor.substr(kPrefix.size()) : monitor;
  double sum = 0;
  int64_t count = 0;
  for (const auto& [set, numbers] : report.sets) {
    for (const auto& [name, value] : numbers) {
      if (wanted == name + "_" + set || wanted == set + "_" + name) return value;
      if (wanted != name) continue;
      sum += value;
      ++count;
    }
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

CheckpointObserver::CheckpointObserver(CheckpointFolder& checkpoints, std::string monitor,
                                       std::function<void(const std::string&)> warn)
    : checkpoints_(checkpoints), monitor_(std::move(monitor)), warn_(std::move(warn)) {}

void CheckpointObserver::on_step(const StepReport&) { checkpoints_.poll(); }

void CheckpointObserver::on_validation(const ValidationReport& report) {
  numbers_.clear();
  for (const auto& [set, numbers] : report.sets) {
    for (const auto& [name, value] : numbers) {
      const std::string full = std::string(kPrefix) + name;
      numbers_[full + "_" + set] = value;
      numbers_[full] = find_monitored(report, full).value_or(value);
    }
  }
  if (monitor_.empty()) return;
  step_ = report.step;
  value_ = find_monitored(report, monitor_);
  if (value_ && !std::isfinite(*value_)) value_.reset();
  if (value_ || find_monitored(report, monitor_) || !warn_) return;
  warn_(
      fmt::format("exp_manager.checkpoint_callback_params.monitor: '{}' is not a metric of this "
                  "run's validations ({}); the newest checkpoints are kept",
                  monitor_, names_text(report)));
  warn_ = nullptr;
}

void CheckpointObserver::on_end(int64_t) { checkpoints_.finish(); }

std::optional<double> CheckpointObserver::monitored(int64_t steps_done) const {
  return step_ == steps_done ? value_ : std::nullopt;
}

}  // namespace s2s

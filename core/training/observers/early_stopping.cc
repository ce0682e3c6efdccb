#include "observers/early_stopping.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/foreign_json.h"
#include "checkpoint/checkpoint_observer.h"

namespace s2s::run {
namespace {

// Numbers in the state of the trainer.
constexpr const char* kWaits = "early_stopping_waits";
constexpr const char* kBest = "early_stopping_best";
constexpr const char* kEnded = "early_stopping_ended";

}  // namespace

EarlyStopping::EarlyStopping(const ExpManagerBlock& settings,
                             std::function<void(const std::string&)> finish,
                             std::function<void(const std::string&)> warn)
    : is_on_(settings.create_early_stopping_callback),
      settings_(settings.early_stopping_callback_params),
      finish_(std::move(finish)),
      warn_(std::move(warn)),
      best_(settings_.mode == "max" ? -std::numeric_limits<double>::infinity()
                                    : std::numeric_limits<double>::infinity()) {}

bool EarlyStopping::is_better(double value, double than) const {
  return settings_.mode == "max" ? value > than : value < than;
}

/// Returns why the run ends, or "".
std::string EarlyStopping::judge(double value) {
  if (settings_.check_finite && !std::isfinite(value)) return fmt::format("is {}", value);
  if (settings_.stopping_threshold && is_better(value, *settings_.stopping_threshold)) {
    return fmt::format("has reached {} (stopping_threshold {})", value,
                       *settings_.stopping_threshold);
  }
  if (settings_.divergence_threshold && is_better(*settings_.divergence_threshold, value)) {
    return fmt::format("has diverged to {} (divergence_threshold {})", value,
                       *settings_.divergence_threshold);
  }
  const double delta = settings_.mode == "max" ? settings_.min_delta : -settings_.min_delta;
  if (is_better(value - delta, best_)) {
    best_ = value;
    num_waits_ = 0;
    return "";
  }
  if (++num_waits_ < settings_.patience) return "";
  return fmt::format("has not improved in {} validations (best {}, min_delta {})", num_waits_,
                     best_, settings_.min_delta);
}

void EarlyStopping::on_validation(const ValidationReport& report) {
  if (!is_on_) return;
  const std::optional<double> value = find_monitored(report, settings_.monitor);
  if (!value) {
    if (warn_) {
      warn_(
          fmt::format("exp_manager.early_stopping_callback_params.monitor: '{}' is not a metric "
                      "of this run's validations; they do not end the run",
                      settings_.monitor));
    }
    warn_ = nullptr;
    return;
  }
  const std::string reason = judge(*value);
  has_ended_ = !reason.empty();
  if (has_ended_) finish_(settings_.monitor + " " + reason);
}

std::string EarlyStopping::add_state(const std::string& trainer_state) const {
  if (!is_on_) return trainer_state;
  nlohmann::json state = parse_foreign_json(trainer_state);
  state[kWaits] = num_waits_;
  state[kEnded] = has_ended_ ? 1 : 0;
  if (std::isfinite(best_)) state[kBest] = best_;
  return state.dump();
}

void EarlyStopping::restore(const std::string& trainer_state) {
  const nlohmann::json state = try_parse_foreign_json(trainer_state);
  if (!is_on_ || !state.is_object()) return;
  num_waits_ = state.value(kWaits, int64_t{0});
  best_ = state.value(kBest, best_);
  has_ended_ = state.value(kEnded, 0) != 0;
  if (has_ended_) finish_(settings_.monitor + " has already ended this run");
}

}  // namespace s2s::run

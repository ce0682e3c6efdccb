#include "eval/metrics/monitored_metric.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"

namespace s2s {

namespace {

constexpr std::string_view kPrefix = "val_";

bool has_scorer(const RunOptions& settings) {
  return !settings.model.scoring_asr.entries().empty();
}

/// A metric of the model's answers.
struct OfAnswers {
  std::string name;
  bool needs_scorer = false;
  std::optional<bool> is_larger_better;  // not set when the metric does not say
};

std::vector<OfAnswers> answer_metrics(const std::vector<NamedMetric>& metrics) {
  std::vector<OfAnswers> out;
  for (const NamedMetric& metric : metrics) {
    for (const LoggedValue& logged : logged_values(metric)) {
      if (logged.is_best_case) continue;  // the codec's and the scorer's
      const MetricValue::Better better = metric.values[logged.index].better;
      out.push_back({logged.name, logged.needs_scorer, {}});
      if (better != MetricValue::Better::kNeither) {
        out.back().is_larger_better = better == MetricValue::Better::kHigher;
      }
    }
  }
  return out;
}

/// Reads the names of `monitor` and of what the run measures.
class Monitors {
 public:
  Monitors(const RunOptions& settings, const std::vector<NamedMetric>& metrics)
      : settings_(settings),
        answers_(answer_metrics(metrics)),
        lists_some_(std::any_of(metrics.begin(), metrics.end(),
                                [](const NamedMetric& metric) { return metric.is_listed; })) {}

  std::optional<int64_t> answered_batches() const;
  std::string fault(const std::vector<std::string>& of_model) const;

 private:
  const OfAnswers* of_answers(const std::string& name) const;
  std::string metric_of(std::string name, const std::vector<std::string>& of_model) const;
  std::optional<bool> is_larger_better(const std::string& metric) const;
  std::vector<std::string> measured_names(const std::vector<std::string>& of_model) const;
  std::string absence(const std::string& metric, const std::vector<std::string>& of_model) const;

  const RunOptions& settings_;
  std::vector<OfAnswers> answers_;
  bool lists_some_;
};

/// Null for a name that is not one of a metric of answers.
const OfAnswers* Monitors::of_answers(const std::string& name) const {
  const auto found = std::find_if(answers_.begin(), answers_.end(),
                                  [&](const OfAnswers& answer) { return answer.name == name; });
  return found == answers_.end() ? nullptr : &*found;
}

/// Returns the metric of a monitor name: val_text_loss_far_dev -> text_loss, with sets `dev` and
/// `far_dev`. Measured metrics decide where the set name begins. Without a match, returns the name
/// without its prefix.
std::string Monitors::metric_of(std::string name, const std::vector<std::string>& of_model) const {
  if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  std::vector<std::string> readings = {name};
  for (const auto& [set, block] : settings_.validation_sets) {
    const std::string ending = "_" + set;
    if (name.ends_with(ending)) readings.push_back(name.substr(0, name.size() - ending.size()));
    if (name.starts_with(set + "_")) readings.push_back(name.substr(set.size() + 1));  // NeMo's acc
  }
  for (const std::string& reading : readings) {
    if (of_answers(reading) != nullptr || contains(of_model, reading)) return reading;
  }
  return name;
}

std::optional<bool> Monitors::is_larger_better(const std::string& metric) const {
  if (const OfAnswers* const answer = of_answers(metric)) return answer->is_larger_better;
  if (metric.ends_with("loss")) return false;
  if (metric.find("accuracy") != std::string::npos) return true;
  return std::nullopt;
}

/// Returns the metrics that the run measures, by the names that `monitor` accepts.
std::vector<std::string> Monitors::measured_names(const std::vector<std::string>& of_model) const {
  std::vector<std::string> names;
  for (const std::string& name : of_model) names.push_back(std::string(kPrefix) + name);
  if (!answered_batches()) return names;
  for (const OfAnswers& metric : answers_) {
    if (!metric.needs_scorer || has_scorer(settings_)) {
      names.push_back(fmt::format("{}{}", kPrefix, metric.name));
    }
  }
  return names;
}

/// Returns why the metric is not measured, or "" when it is.
std::string Monitors::absence(const std::string& metric,
                              const std::vector<std::string>& of_model) const {
  if (!settings_.trainer.val_check_interval || settings_.validation_sets.empty()) {
    return "the run has no validations: set trainer.val_check_interval and "
           "data.validation_ds.datasets";
  }
  if (const OfAnswers* const answer = of_answers(metric)) {
    if (answer->needs_scorer && !has_scorer(settings_)) {
      return "answers are not transcribed: set model.scoring_asr.name (s2s-run plugin list --kind "
             "scorer)";
    }
    if (answered_batches()) return "";
    return "trainer.limit_val_generate_batches is 0: remove the key, or set a number above 0";
  }
  // The model does not list its metrics; the first validation will show.
  if (of_model.empty()) return "";
  if (contains(of_model, metric)) return "";
  return fmt::format("write one of {}, alone for the mean over the sets, or followed by _SET",
                     fmt::join(measured_names(of_model), ", "));
}

std::optional<int64_t> Monitors::answered_batches() const {
  const std::optional<int64_t>& limit = settings_.trainer.limit_val_generate_batches;
  if (limit) return *limit == 0 ? std::nullopt : limit;
  const auto& monitor = settings_.exp_manager.checkpoint_callback_params.monitor;
  const OfAnswers* const wanted = monitor ? of_answers(metric_of(*monitor, {})) : nullptr;
  const bool is_wanted = wanted != nullptr && !wanted->needs_scorer;
  return has_scorer(settings_) || lists_some_ || is_wanted ? std::optional<int64_t>(0)
                                                           : std::nullopt;
}

std::string Monitors::fault(const std::vector<std::string>& of_model) const {
  const CheckpointBlock& saves = settings_.exp_manager.checkpoint_callback_params;
  if (!saves.monitor) return "";
  const std::string metric = metric_of(*saves.monitor, of_model);
  const std::string start =
      fmt::format("exp_manager.checkpoint_callback_params.monitor: '{}' ", *saves.monitor);
  const std::string absent = absence(metric, of_model);
  if (!absent.empty()) {
    return fmt::format("{}is never measured, so the newest checkpoints are kept; {}", start,
                       absent);
  }
  const std::optional<bool> larger = is_larger_better(metric);
  if (!larger || *larger == (saves.mode == "max")) return "";
  return fmt::format("{}is better when it is {}, but mode {} keeps the worst; write mode: {}",
                     start, *larger ? "larger" : "smaller", saves.mode, *larger ? "max" : "min");
}

}  // namespace

std::optional<int64_t> answered_batches(const RunOptions& settings,
                                        const std::vector<NamedMetric>& metrics) {
  return Monitors(settings, metrics).answered_batches();
}

std::string monitor_fault(const RunOptions& settings, const std::vector<NamedMetric>& metrics,
                          const std::vector<std::string>& of_model) {
  return Monitors(settings, metrics).fault(of_model);
}

}  // namespace s2s

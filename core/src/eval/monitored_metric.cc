#include "eval/monitored_metric.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "eval/answer_metrics.h"

namespace s2s {
namespace {

constexpr std::string_view kPrefix = "val_";

bool has_scorer(const RunOptions& settings) {
  return !settings.model.scoring_asr.entries().empty();
}

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// val_text_loss_far_dev -> text_loss, with sets `dev` and `far_dev`: what is measured decides. The
/// name without its prefix when nothing is.
std::string metric_of(const RunOptions& settings, std::string name,
                      const std::vector<std::string>& of_model) {
  if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  std::vector<std::string> readings = {name};
  for (const auto& [set, block] : settings.validation_sets) {
    const std::string behind = "_" + set;
    if (name.ends_with(behind)) readings.push_back(name.substr(0, name.size() - behind.size()));
  }
  for (const std::string& reading : readings) {
    if (find_answer_metric(reading) != nullptr || is_one_of(reading, of_model)) return reading;
  }
  return name;
}

std::optional<bool> is_larger_better(const std::string& metric) {
  if (const AnswerMetric* const answer = find_answer_metric(metric)) {
    return answer->is_larger_better;
  }
  if (metric.ends_with("loss")) return false;
  if (metric.find("accuracy") != std::string::npos) return true;
  return std::nullopt;
}

/// What the run measures, under the names that a monitor has.
std::vector<std::string> measured_names(const RunOptions& settings,
                                        const std::vector<std::string>& of_model) {
  std::vector<std::string> names;
  for (const std::string& name : of_model) names.push_back(std::string(kPrefix) + name);
  if (!answered_batches(settings)) return names;
  for (const AnswerMetric& metric : answer_metrics()) {
    if (!metric.needs_scorer || has_scorer(settings)) {
      names.push_back(fmt::format("{}{}", kPrefix, metric.name));
    }
  }
  return names;
}

/// Why it is not measured; "" when it is.
std::string absence(const RunOptions& settings, const std::string& metric,
                    const std::vector<std::string>& of_model) {
  if (!settings.trainer.val_check_interval || settings.validation_sets.empty()) {
    return "the run has no validations: set trainer.val_check_interval and "
           "data.validation_ds.datasets";
  }
  if (const AnswerMetric* const answer = find_answer_metric(metric)) {
    if (answer->needs_scorer && !has_scorer(settings)) {
      return "nobody listens to the answers: set model.scoring_asr.name (s2s-run plugin list "
             "--kind "
             "scorer)";
    }
    if (answered_batches(settings)) return "";
    return "trainer.limit_val_generate_batches is 0: take it away, or write a number";
  }
  if (of_model.empty()) return "";  // the model does not say; the first validation will
  if (is_one_of(metric, of_model)) return "";
  return fmt::format("write one of {}, alone for the mean over the sets, or with _SET behind it",
                     fmt::join(measured_names(settings, of_model), ", "));
}

}  // namespace

std::optional<int64_t> answered_batches(const RunOptions& settings) {
  const std::optional<int64_t>& limit = settings.trainer.limit_val_generate_batches;
  if (limit) return *limit == 0 ? std::nullopt : limit;
  const auto& monitor = settings.exp_manager.checkpoint_callback_params.monitor;
  const AnswerMetric* const wanted =
      monitor ? find_answer_metric(metric_of(settings, *monitor, {})) : nullptr;
  const bool is_wanted = wanted != nullptr && !wanted->needs_scorer;
  return has_scorer(settings) || is_wanted ? std::optional<int64_t>(0) : std::nullopt;
}

std::string monitor_fault(const RunOptions& settings, const std::vector<std::string>& of_model) {
  const CheckpointBlock& saves = settings.exp_manager.checkpoint_callback_params;
  if (!saves.monitor) return "";
  const std::string metric = metric_of(settings, *saves.monitor, of_model);
  const std::string start =
      fmt::format("exp_manager.checkpoint_callback_params.monitor: '{}' ", *saves.monitor);
  const std::string absent = absence(settings, metric, of_model);
  if (!absent.empty()) {
    return fmt::format("{}is never measured, and the newest checkpoints are kept; {}", start,
                       absent);
  }
  const std::optional<bool> larger = is_larger_better(metric);
  if (!larger || *larger == (saves.mode == "max")) return "";
  return fmt::format("{}is better when it is {}, and mode {} keeps the worst; write mode: {}",
                     start, *larger ? "larger" : "smaller", saves.mode, *larger ? "max" : "min");
}

}  // namespace s2s

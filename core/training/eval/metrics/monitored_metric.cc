#include "eval/metrics/monitored_metric.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "eval/metrics/named_metric.h"

namespace s2s {

const std::vector<AnswerMetric>& answer_metrics() {
  static const std::vector<AnswerMetric> kMetrics = {
      {"txt_bleu", false, true},
      {"txt_wer", false, false},
      {"txt_cer", false, false},
      {"txt_exact", false, true},
      {"src_txt_bleu", false, true},
      {"src_wer", false, false},
      {"acc", false, true},
      {"asr_bleu", true, true},
      {"asr_wer", true, false},
      {"asr_cer", true, false},
      {"asr_exact", true, true},
      {"takeover_rate", false, true},
      {"latency_median_s", false, false},
      {"latency_p90_s", false, false},
      {"pause_rate", false, false},
      {"stop_rate", false, true},
      {"stop_latency_median_s", false, false},
      {"false_start_rate", false, false},
      {"agent_speech_ratio", false, true},
  };
  return kMetrics;
}

const AnswerMetric* find_answer_metric(std::string_view name) {
  const auto& all = answer_metrics();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const AnswerMetric& metric) { return metric.name == name; });
  return found == all.end() ? nullptr : &*found;
}
namespace {

constexpr std::string_view kPrefix = "val_";

bool has_scorer(const RunOptions& settings) {
  return !settings.model.scoring_asr.entries().empty();
}

/// A metric of the model's answers.
struct OfAnswers {
  bool needs_scorer = false;
  std::optional<bool> is_larger_better;  // not set for a plugin's metric
};

/// Looks `name` up in answer_metrics() and in the metrics of plugins. Nothing for other names.
std::optional<OfAnswers> of_answers(const RunOptions& settings, const std::string& name) {
  if (const AnswerMetric* const known = find_answer_metric(name)) {
    return OfAnswers{known->needs_scorer, known->is_larger_better};
  }
  for (const auto& [metric, component] : metric_components(settings.model.metrics)) {
    if (name == "txt_" + metric) return OfAnswers{false, {}};
    if (name == "asr_" + metric) return OfAnswers{true, {}};
  }
  return std::nullopt;
}

/// Returns the metric of a monitor name: val_text_loss_far_dev -> text_loss, with sets `dev` and
/// `far_dev`. Measured metrics decide where the set name begins. Without a match, returns the name
/// without its prefix.
std::string metric_of(const RunOptions& settings, std::string name,
                      const std::vector<std::string>& of_model) {
  if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
  std::vector<std::string> readings = {name};
  for (const auto& [set, block] : settings.validation_sets) {
    const std::string behind = "_" + set;
    if (name.ends_with(behind)) readings.push_back(name.substr(0, name.size() - behind.size()));
    if (name == set + "_acc") readings.emplace_back("acc");  // as NeMo writes it
  }
  for (const std::string& reading : readings) {
    if (of_answers(settings, reading) || contains(of_model, reading)) return reading;
  }
  return name;
}

std::optional<bool> is_larger_better(const RunOptions& settings, const std::string& metric) {
  if (const auto answer = of_answers(settings, metric)) return answer->is_larger_better;
  if (metric.ends_with("loss")) return false;
  if (metric.find("accuracy") != std::string::npos) return true;
  return std::nullopt;
}

/// Returns the metrics that the run measures, by the names that `monitor` accepts.
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
  for (const auto& [metric, component] : metric_components(settings.model.metrics)) {
    names.push_back(fmt::format("{}txt_{}", kPrefix, metric));
    if (has_scorer(settings)) names.push_back(fmt::format("{}asr_{}", kPrefix, metric));
  }
  return names;
}

/// Returns why the metric is not measured, or "" when it is.
std::string absence(const RunOptions& settings, const std::string& metric,
                    const std::vector<std::string>& of_model) {
  if (!settings.trainer.val_check_interval || settings.validation_sets.empty()) {
    return "the run has no validations: set trainer.val_check_interval and "
           "data.validation_ds.datasets";
  }
  if (const auto answer = of_answers(settings, metric)) {
    if (answer->needs_scorer && !has_scorer(settings)) {
      return "answers are not transcribed: set model.scoring_asr.name (s2s-run plugin list --kind "
             "scorer)";
    }
    if (answered_batches(settings)) return "";
    return "trainer.limit_val_generate_batches is 0: remove the key, or set a number above 0";
  }
  // The model does not list its metrics; the first validation will show.
  if (of_model.empty()) return "";
  if (contains(of_model, metric)) return "";
  return fmt::format("write one of {}, alone for the mean over the sets, or followed by _SET",
                     fmt::join(measured_names(settings, of_model), ", "));
}

}  // namespace

std::optional<int64_t> answered_batches(const RunOptions& settings) {
  const std::optional<int64_t>& limit = settings.trainer.limit_val_generate_batches;
  if (limit) return *limit == 0 ? std::nullopt : limit;
  const auto& monitor = settings.exp_manager.checkpoint_callback_params.monitor;
  const std::optional<OfAnswers> wanted =
      monitor ? of_answers(settings, metric_of(settings, *monitor, {})) : std::nullopt;
  const bool is_wanted = wanted && !wanted->needs_scorer;
  const bool has_metrics = !metric_components(settings.model.metrics).empty();
  return has_scorer(settings) || has_metrics || is_wanted ? std::optional<int64_t>(0)
                                                          : std::nullopt;
}

std::string monitor_fault(const RunOptions& settings, const std::vector<std::string>& of_model) {
  const CheckpointBlock& saves = settings.exp_manager.checkpoint_callback_params;
  if (!saves.monitor) return "";
  const std::string metric = metric_of(settings, *saves.monitor, of_model);
  const std::string start =
      fmt::format("exp_manager.checkpoint_callback_params.monitor: '{}' ", *saves.monitor);
  const std::string absent = absence(settings, metric, of_model);
  if (!absent.empty()) {
    return fmt::format("{}is never measured, so the newest checkpoints are kept; {}", start,
                       absent);
  }
  const std::optional<bool> larger = is_larger_better(settings, metric);
  if (!larger || *larger == (saves.mode == "max")) return "";
  return fmt::format("{}is better when it is {}, but mode {} keeps the worst; write mode: {}",
                     start, *larger ? "larger" : "smaller", saves.mode, *larger ? "max" : "min");
}

}  // namespace s2s

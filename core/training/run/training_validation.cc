#include "run/training_validation.h"

#include <fmt/format.h>

#include "base/log.h"
#include "eval/metrics/monitored_metric.h"
#include "observers/parameter_histograms.h"

namespace s2s::run {
namespace {

ValidationSettings validation_settings(const RunBuilder& builder, const RunParts& parts,
                                       Scorer* scorer) {
  ValidationSettings out;
  std::vector<NamedMetric> metrics = builder.metrics();
  if (const auto answered = answered_batches(builder.settings(), metrics)) {
    out.answers = Answers::kNumbers;
    out.limit_answers = *answered;
    out.scorer = scorer;
    out.metrics = std::move(metrics);
  }
  out.limit_batches = builder.settings().trainer.limit_val_batches.value_or(0);
  out.device = builder.device();
  out.precision = builder.precision();
  out.strategy = parts.strategy.get();
  return out;
}

/// Exchanges the weights with their moving average, if the run keeps one and validates it.
void swap_average(const OpenRun& run, const RunParts& parts) {
  const EmaBlock& ema = run.setup.builder().settings().exp_manager.ema;
  if (parts.average == nullptr || ema.validate_original_weights) return;
  if (parts.average->swap()) parts.strategy->after_update(*parts.model);
}

}  // namespace

bool has_loggers(const RunBuilder& builder) {
  return !builder.settings().exp_manager.loggers.is_null();
}

ValidationReport validate(const OpenRun& run, const RunParts& parts, const Validator::Sets& sets,
                          Scorer* scorer, int64_t steps_done) {
  const RunBuilder& builder = run.setup.builder();
  const ExpManagerBlock& manager = builder.settings().exp_manager;
  ValidationSettings settings = validation_settings(builder, parts, scorer);
  if (has_loggers(builder) && run.processes.is_first()) {
    settings.kept_examples = manager.log_examples;
  }
  swap_average(run, parts);
  ValidationReport report = Validator(*parts.model, sets, settings).run(steps_done);
  swap_average(run, parts);
  if (has_loggers(builder) && manager.log_histograms) {
    report.histograms = parameter_histograms(*parts.strategy, *parts.model, run.processes.world());
  }
  return report;
}

void check_validation(const OpenRun& run, const RunParts& parts, const Validator::Sets& sets,
                      Scorer* scorer) {
  const RunBuilder& builder = run.setup.builder();
  const int64_t batches = builder.settings().trainer.num_sanity_val_steps;
  if (batches == 0 || sets.empty()) return;
  ValidationSettings settings = validation_settings(builder, parts, scorer);
  if (batches > 0) settings.limit_batches = batches;
  release_device_memory(builder.device());
  Validator(*parts.model, sets, settings).run(0);
  release_device_memory(builder.device());
  run.log.info(batches < 0 ? "sanity check: all validation sets work"
                           : fmt::format("sanity check: validation works (batches of each set: {})",
                                         batches));
}

}  // namespace s2s::run

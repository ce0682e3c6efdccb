#include "run/run_preparation.h"

#include <ATen/Context.h>

#include <filesystem>

#include "checkpoint/checkpoint_copies.h"
#include "config/config_tree.h"
#include "eval/metrics/monitored_metric.h"
#include "nn/lora.h"
#include "run/meta_model.h"
#include "run/preparation_steps.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

/// In a check, a tokenizer that training creates does not exist yet.
bool open_tokenizer(Preparation& preparation) {
  PreparedRun& run = preparation.run;
  at::manual_seed(static_cast<uint64_t>(preparation.settings().trainer.seed));
  if (preparation.checks()) {
    const Config& config = run.setup.config();
    const Config* const node = config.find_path("model.tokenizer");
    const bool is_block = node != nullptr && node->is_map();
    const Config* const path = is_block ? node->find("path") : nullptr;
    const bool is_made =
        is_block && (node->find("train") != nullptr || !data_to_make(run.setup).empty());
    if (is_made && path != nullptr && path->is_scalar() && !fs::exists(path->text())) return false;
    run.parts.tokenizer = preparation.builder().tokenizer(run.start.checkpoint);
  } else {
    run.parts.tokenizer =
        build_tokenizer(preparation.builder(), *run.processes, run.start.checkpoint);
  }
  return true;
}

bool describe_the_model(Preparation& preparation) {
  PreparedRun& run = preparation.run;
  run.values = add_model(run.parts, preparation.builder(), run.start.checkpoint);
  return true;
}

/// In a check, a model whose tokenizer does not exist yet is built with a placeholder.
bool find_metric_names(Preparation& preparation) {
  PreparedRun& run = preparation.run;
  if (preparation.has(kModel)) {
    run.metric_names = run.parts.model->metric_names();
  } else if (!preparation.has(kTokenizer)) {
    const Config config = with_checkpoint_copies(run.setup.config(), run.start.checkpoint);
    preparation.placeholder = build_meta_model(config, run.setup.registries());
    run.metric_names = preparation.placeholder->metrics;
  }
  return true;
}

bool make_optimizer(Preparation& preparation) {
  add_optimizer(preparation.run.parts, preparation.builder());
  return true;
}

bool freeze_parameters_of_run(Preparation& preparation) {
  freeze_model(*preparation.run.parts.model, preparation.run.setup);
  return true;
}

/// Called before memory is allocated. In a training, the strategy reports errors of the plan.
bool forecast_memory(Preparation& preparation) {
  const Run& setup = preparation.run.setup;
  const auto& forecast = setup.program().forecast_memory;
  if (!forecast || !preparation.run.processes->is_first()) return true;
  if (!preparation.builder().device().is_cpu()) return true;
  if (preparation.checks() && !preparation.check->findings.empty()) return true;
  if (!preparation.has(kModel) && !preparation.placeholder) return true;
  const MetaModel model = preparation.has(kModel) ? meta_model_of(*preparation.run.parts.model)
                                                  : *preparation.placeholder;
  const LaunchEnvironment& launch = preparation.run.processes->launch();
  const StartedRanks started =
      preparation.checks() ? StartedRanks{} : StartedRanks{launch.size, launch.local_size};
  std::vector<std::string> warnings;
  try {
    forecast(setup.config(), setup.registries(), model, started, warnings);
  } catch (const Error&) {
    if (preparation.checks()) throw;
    return true;
  }
  for (const std::string& warning : warnings) setup.warnings().add(warning);
  return true;
}

/// Allocates the model. A check makes its plan for the mesh instead.
bool attach_model(Preparation& preparation) {
  PreparedRun& run = preparation.run;
  if (!preparation.checks()) {
    attach_training(run.parts, run.setup, *run.values);
    run.values.reset();
    return true;
  }
  if (run.parts.strategy != nullptr) {
    ShardPlan plan = run.parts.model->configure_model(run.parts.strategy->mesh());
    add_lora_rows(*run.parts.model, plan);
  }
  std::vector<NamedTensor> trainable;
  for (NamedTensor& parameter : run.parts.model->named_parameters()) {
    if (parameter.tensor->requires_grad()) trainable.push_back(std::move(parameter));
  }
  lr_scales(trainable, preparation.settings().optimizer, run.setup.warnings());
  return true;
}

bool resume_run(Preparation& preparation) {
  PreparedRun& run = preparation.run;
  const std::string& checkpoint = run.start.checkpoint;
  if (!preparation.checks()) {
    run.begin = resume(run.setup, run.start, run.parts, run.processes->launch().rank, *run.log);
    return true;
  }
  if (checkpoint.empty()) return true;
  require_checkpoint(checkpoint);
  check_same_parts(checkpoint, run.setup.config());
  if (preparation.has(kModel)) require_same_model(checkpoint, *run.parts.model);
  return true;
}

/// A check fits no codec, because a fit takes further batches of the training data.
bool fit_codec(Preparation& preparation) {
  if (!preparation.checks()) fit_codec_of(preparation.run.parts, preparation.builder());
  return true;
}

bool make_loggers(Preparation& preparation) {
  if (!preparation.run.processes->is_first()) return true;
  preparation.run.loggers = preparation.builder().loggers();
  return true;
}

bool describe_metrics(Preparation& preparation) {
  if (preparation.settings().validation_sets.empty()) return true;
  preparation.run.metrics = preparation.builder().metrics();
  return true;
}

bool find_monitor(Preparation& preparation) {
  PreparedRun& run = preparation.run;
  run.monitor_fault = monitor_fault(preparation.settings(), run.metrics, run.metric_names);
  if (!run.monitor_fault.empty()) run.setup.warnings().add(run.monitor_fault);
  return true;
}

constexpr PreparationStep kPlaceSteps[] = {
    {"ranks and strategy", kNothingYet, kRanks, meet_ranks},
    {"run folder", kNothingYet, kFolder, open_run_folder},
    {"log", kFolder, kNothingYet, open_log},
};

constexpr PreparationStep kTrainingSteps[] = {
    {"settings", kNothingYet, kNothingYet, read_settings},
    {"data.synth", kNothingYet, kNothingYet, make_data},
    {"checkpoint to start from", kFolder, kStart, choose_start},
    {"place of checkpoints", kFolder, kNothingYet, try_checkpoints},
    {"tokenizer", kNothingYet, kTokenizer, open_tokenizer},
    {"model", kTokenizer, kModel, describe_the_model},
    {"names of metrics", kNothingYet, kNothingYet, find_metric_names},
    {"training data", kNothingYet, kTrainData, open_training_data},
    {"optimizer and schedule", kNothingYet, kOptimizer, make_optimizer},
    {"frozen parameters", kModel, kFrozen, freeze_parameters_of_run},
    {"memory", kNothingYet, kNothingYet, forecast_memory},
    {"parameters", kFrozen | kOptimizer, kNothingYet, attach_model},
    {"state of the checkpoint", kStart, kNothingYet, resume_run},
    {"files of the run", kFolder, kNothingYet, write_files},
    {"codec", kModel, kNothingYet, fit_codec},
    {"room for checkpoints", kModel | kFolder, kNothingYet, find_room},
    {"loggers", kNothingYet, kNothingYet, make_loggers},
    {"metrics", kNothingYet, kMetrics, describe_metrics},
    {"monitored metric", kMetrics, kNothingYet, find_monitor},
    {"validation sets, metrics and scorer", kNothingYet, kNothingYet, open_validation},
    {"first batch", kTrainData, kNothingYet, take_first_batch},
};

template <size_t n>
void take(const PreparationStep (&steps)[n], Preparation& preparation) {
  for (const PreparationStep& step : steps) {
    if ((preparation.have & step.needs) != step.needs) continue;
    preparation.attempt([&] {
      if (step.take(preparation)) preparation.have |= step.gives;
    });
  }
}

}  // namespace

void prepare_run_folder(PreparedRun& run) {
  Preparation preparation{run};
  take(kPlaceSteps, preparation);
}

void prepare_training(PreparedRun& run) {
  Preparation preparation{run};
  preparation.have = kRanks | kFolder;
  take(kTrainingSteps, preparation);
}

PreparationReport check_preparation(Run& setup) {
  PreparationReport report;
  PreparedRun run(setup);
  Preparation preparation{run, &report};
  take(kPlaceSteps, preparation);
  take(kTrainingSteps, preparation);
  return report;
}

}  // namespace s2s::run

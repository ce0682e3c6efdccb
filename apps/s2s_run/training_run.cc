#include "s2s_run/training_run.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <iostream>

#include "base/interrupt.h"
#include "base/log.h"
#include "config/load_config.h"
#include "eval/validator.h"
#include "s2s_run/data_synth.h"
#include "s2s_run/manifest.h"
#include "s2s_run/progress_observer.h"
#include "train/checkpoint.h"
#include "train/freeze.h"
#include "train/run_folder.h"
#include "train/trainer.h"

namespace s2s::run {
namespace {

/// All that a run owns, in the order it is built.
struct Run {
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<SpeechModel> model;
  std::unique_ptr<ParallelStrategy> strategy;
  std::unique_ptr<DataSource> data;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Schedule> schedule;
  std::map<std::string, SourceFactory> validation;
};

/// Trainable parameters and the learning-rate scale of each (model.optimizer.lr_scales).
void attach_optimizer(Run& run, const RunOptions& settings) {
  std::vector<NamedTensor> trainable;
  std::vector<double> scales;
  for (NamedTensor& parameter : run.model->named_parameters()) {
    if (!parameter.tensor->requires_grad()) continue;
    double scale = 1;
    for (const LrScale& rule : settings.model.lr_scales) {
      if (pattern_matches(rule.params, parameter.name, "model.optimizer.lr_scales")) {
        scale = rule.scale;
      }
    }
    trainable.push_back(parameter);
    scales.push_back(scale);
  }
  run.optimizer->attach(std::move(trainable), std::move(scales));
}

Run build(const RunSetup& setup, Log& log) {
  const RunBuilder& builder = setup.builder();
  Run run;
  run.tokenizer = builder.tokenizer();
  run.model = builder.model(run.tokenizer.get());
  run.strategy = builder.strategy();
  run.data = builder.train_source(run.tokenizer.get(), *run.strategy);
  run.optimizer = builder.optimizer();
  run.schedule = builder.schedule();
  run.validation = builder.validation_sources(run.tokenizer.get());
  const RunOptions& settings = builder.settings();
  for (const std::string& pattern : freeze_parameters(*run.model, settings.model.freeze_params,
                                                      settings.model.prevent_freeze_params)) {
    log.warning(fmt::format("model.freeze_params: '{}' matches no parameter", pattern));
  }
  run.strategy->attach(*run.model, run.model->configure_model(run.strategy->mesh()));
  attach_optimizer(run, settings);
  return run;
}

/// Loads the newest checkpoint of the run folder, or exp_manager.resume_from_checkpoint. Returns
/// the optimizer steps done; 0 for a fresh run.
int64_t resume(const RunSetup& setup, const CheckpointFolder& checkpoints, Run& run, Log& log) {
  const ExpManagerOptions& manager = setup.builder().settings().exp_manager;
  std::string from = manager.resume_if_exists ? checkpoints.newest() : "";
  if (from.empty() && manager.resume_from_checkpoint) from = *manager.resume_from_checkpoint;
  if (from.empty()) return 0;
  load_model(from, *run.model);
  const RunState state = load_run_state(from, *run.optimizer);
  run.data->restore(state.data_state);
  log.info(fmt::format("resumed from {} at step {}", from, state.steps_done));
  return state.steps_done;
}

TrainerSettings trainer_settings(const RunBuilder& builder) {
  const RunOptions& settings = builder.settings();
  TrainerSettings out;
  out.max_steps = settings.trainer.max_steps;
  out.accumulate = settings.trainer.accumulate_grad_batches;
  out.max_grad_norm = settings.trainer.gradient_clip_val.value_or(0);
  out.validate_every = settings.trainer.val_check_interval.value_or(0);
  out.checkpoint_every =
      settings.exp_manager.checkpoint_callback_params.every_n_train_steps.value_or(0);
  out.max_time_s = settings.exp_manager.max_time_s();
  out.precision = builder.precision();
  out.device = builder.device();
  return out;
}

}  // namespace

ExitCode run_training(const RunSetup& setup) {
  const RunBuilder& builder = setup.builder();
  const RunOptions& settings = builder.settings();
  const InterruptWatch interrupt;  // ^C while building ends the run after its first step
  const RunFolder folder(settings.exp_manager.run_folder());
  Console console(std::cerr, standard_error_is_terminal(), terminal_width());
  Log log(&console, {LogLevel::kInfo, folder.file("log.txt")});
  if (settings.trainer.num_threads) {
    at::set_num_threads(static_cast<int>(*settings.trainer.num_threads));
  }
  for (const std::string& line : setup.without_effect()) log.info(line);
  for (const Shadowing& shadowed : setup.host().scan().shadowed) {
    log.info(fmt::format("{}:{} comes from {}, which shadows {}", shadowed.id.kind,
                         shadowed.id.name, shadowed.winner, shadowed.loser));
  }
  make_configured_set(setup.config(), ".");
  Run run = build(setup, log);
  const CheckpointFolder checkpoints(folder.checkpoints(),
                                     {folder.file("config.yaml"), folder.file("manifest.json")});
  const int64_t first_step = resume(setup, checkpoints, run, log);
  folder.write_config(effective_text(setup.config()));
  folder.write_manifest(run_manifest(setup));
  fit_codec(
      *run.model, [&] { return builder.train_source(run.tokenizer.get(), *run.strategy); },
      settings.trainer.codec_fit_batches);

  Trainer trainer(trainer_settings(builder), {run.model.get(), run.data.get(), run.strategy.get(),
                                              run.optimizer.get(), run.schedule.get()});
  MetricsLog metrics(folder.file("metrics.jsonl"), first_step);
  ProgressObserver progress(console, log, first_step, settings.trainer.max_steps,
                            settings.trainer.log_every_n_steps);
  trainer.add_observer(&metrics);
  trainer.add_observer(&progress);
  trainer.save_checkpoint = [&](int64_t steps_done) {
    const std::string path =
        checkpoints.save(*run.model, *run.optimizer, {steps_done, run.data->state()});
    checkpoints.rotate(settings.exp_manager.checkpoint_callback_params.save_top_k, {});
    return path;
  };
  ValidationSettings validation;
  validation.limit_batches = settings.trainer.limit_val_batches.value_or(0);
  validation.device = builder.device();
  validation.precision = builder.precision();
  if (!run.validation.empty()) {
    trainer.validate = [&](int64_t steps_done) {
      return Validator(*run.model, run.validation, validation).run(steps_done);
    };
  }
  trainer.stop_requested = [&] { return interrupt.requested(); };
  const Trainer::End end = trainer.run(first_step);
  return end == Trainer::End::kFinished ? ExitCode::kOk : ExitCode::kStopped;
}

}  // namespace s2s::run

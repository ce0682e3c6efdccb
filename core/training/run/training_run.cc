#include "run/training_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>

#include "base/machine.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_copies.h"
#include "checkpoint/checkpoint_observer.h"
#include "config/config_tree.h"
#include "config/load_config.h"
#include "config/secrets.h"
#include "run/bad_steps.h"
#include "run/early_stopping.h"
#include "run/logged_options.h"
#include "run/manifest.h"
#include "run/progress_observer.h"
#include "run/recorded_steps.h"
#include "run/run_preparation.h"
#include "run/run_times.h"
#include "run/step_profiler.h"
#include "run/training_validation.h"

namespace s2s::run {
namespace {

CheckpointSettings checkpoint_settings(const OpenRun& run, const ParallelStrategy& strategy) {
  const CheckpointBlock& options =
      run.setup.builder().settings().exp_manager.checkpoint_callback_params;
  CheckpointSettings out;
  if (run.processes.place().size > 1) out.world = &run.processes.world();
  out.mesh = strategy.mesh();
  out.is_async = options.async_save;
  out.rotation = Rotation{options.save_top_k, options.monitor.has_value(), options.mode == "max"};
  if (run.processes.is_first()) out.lines = run.folder.file("metrics.jsonl");
  out.warn = [&log = run.log](const std::string& message) { log.warning(message); };
  return out;
}

/// exp_manager.name, with references in place of other variables than recorded ones.
std::string logged_name(const Config& config, const std::string& name) {
  const Config logged = logged_value(config, "exp_manager.name");
  return logged.is_scalar() ? logged.text() : name;
}

/// Describes the run to its loggers.
LoggedRun logged_run(const OpenRun& run, int64_t steps_done) {
  const RunOptions& settings = run.setup.builder().settings();
  const ExpManagerBlock& manager = settings.exp_manager;
  const std::filesystem::path folder = std::filesystem::absolute(run.folder.path());
  LoggedRun logged;
  logged.id = run_id_of(run.folder.file("manifest.json"));
  logged.name = manager.explicit_log_dir && manager.name == ExpManagerBlock().name
                    ? folder.filename().string()
                    : logged_name(run.setup.config(), manager.name);
  logged.folder = folder.string();
  logged.steps_done = steps_done;
  logged.max_steps = settings.trainer.max_steps;
  logged.config_yaml = effective_text(run.setup.config());
  logged.hyper_parameters = config_values(stored_config(run.setup.config()));
  return logged;
}

/// At the end, logs once more which cuts of this rank skip_bad skipped.
void report_left_out(const DataSource& data, Log& log) {
  const std::vector<std::string> lines = data.left_out();
  if (lines.empty()) return;
  std::string text = fmt::format("skipped bad cuts: {}", lines.size());
  for (const std::string& line : lines) text += "\n  " + line;
  log.warning(text);
}

/// What early stopping calls with its reason.
std::function<void(const std::string&)> early_end(const OpenRun& run, Trainer& trainer) {
  return [&log = run.log, &trainer](const std::string& reason) {
    log.info("early stopping: " + reason);
    trainer.finish_early();
  };
}

ProfiledRun profiled_run(const OpenRun& run, const RunParts& parts) {
  ProfiledRun out{parts.model.get(), run.processes.waits(), run.setup.builder().device()};
  out.rank = run.processes.place().rank;
  out.folder = run.folder.path();
  out.info = [&log = run.log](const std::string& message) { log.info(message); };
  out.warn = [&log = run.log](const std::string& message) { log.warning(message); };
  return out;
}

/// The trainer's settings, with what the ranks can compute in a second and the time used so far.
TrainerSettings settings_of_run(const OpenRun& run) {
  const RunBuilder& builder = run.setup.builder();
  TrainerSettings settings = trainer_settings(builder);
  const std::optional<double>& given = builder.settings().trainer.peak_tflops;
  const Precision& precision = builder.precision();
  const at::ScalarType type = precision.autocast.value_or(precision.parameter_type);
  const double of_rank = given ? 1e12 * *given : measured_flops(builder.device(), type);
  settings.peak_flops = of_rank * static_cast<double>(run.processes.place().size);
  settings.used_time_s = run.used_time_s();
  return settings;
}

void log_times(const RunTimes& times, const OpenRun& run) {
  const std::string table = time_table(times);
  if (!table.empty()) run.log.debug(table);
}

/// What a checkpoint copies from the run folder.
std::vector<std::string> attachments(const RunFolder& folder) {
  return {folder.file("config.yaml"), folder.file("manifest.json"), folder.file(kTokenizerCopy),
          folder.file(kLlmCopy)};
}

/// Lets the trainer save steps that went wrong.
void keep_bad_steps(const OpenRun& run, const RunParts& parts, Trainer& trainer) {
  BadStepsPlace place;
  place.folder = run.folder.file("bad_steps");
  place.attachments = attachments(run.folder);
  if (run.processes.place().size > 1) place.checkpoints.world = &run.processes.world();
  place.checkpoints.mesh = parts.strategy->mesh();
  place.rank = run.processes.place().rank;
  place.num_ranks = run.processes.place().size;
  trainer.save_step = bad_step_saver(
      std::move(place), parts, [&trainer] { return trainer.state(); },
      [&log = run.log](const std::string& message) { log.warning(message); });
}

/// The metrics.jsonl of rank 0; null on other ranks.
std::unique_ptr<MetricsLog> metrics_log(const OpenRun& run, int64_t steps_done,
                                        bool repeats_validation,
                                        const std::function<void(const std::string&)>& warn) {
  if (!run.processes.is_first()) return nullptr;
  auto metrics = std::make_unique<MetricsLog>(run.folder.file("metrics.jsonl"), steps_done, warn,
                                              repeats_validation);
  if (run.stream != nullptr) {
    metrics->on_line = [&stream = *run.stream](const std::string& line) { stream.print(line); };
  }
  return metrics;
}

bool has_lost_reader(const OpenRun& run) {
  return run.stream != nullptr && run.stream->is_reader_gone();
}

/// Trains from what is prepared, and reports to the run folder, the log and the console.
Trainer::End train(const OpenRun& run, PreparedRun& prepared) {
  const RunBuilder& builder = run.setup.builder();
  const TrainerBlock& options = builder.settings().trainer;
  RunParts& parts = prepared.parts;
  const RunState& begin = prepared.begin;
  TrainerParts trained = parts.of_trainer();
  trained.comm_waits = run.processes.waits();
  Trainer trainer(settings_of_run(run), trained);
  trainer.restore(begin.trainer_state);
  const auto warn = [&](const std::string& message) { run.log.warning(message); };
  const std::unique_ptr<MetricsLog> metrics =
      metrics_log(run, begin.steps_done, trainer.owes_validation(), warn);
  if (metrics) trainer.add_observer(metrics.get());
  RunLoggers loggers(std::move(prepared.loggers), warn);
  if (run.processes.is_first()) loggers.start(logged_run(run, begin.steps_done));
  trainer.add_observer(&loggers);
  ProgressObserver progress(run.console, run.log, begin.steps_done, options.max_steps,
                            options.log_every_n_steps);
  trainer.add_observer(&progress);
  CheckpointFolder checkpoints(run.folder.checkpoints(), attachments(run.folder),
                               checkpoint_settings(run, *parts.strategy));
  keep_bad_steps(run, parts, trainer);
  CheckpointObserver saving(
      checkpoints, builder.settings().exp_manager.checkpoint_callback_params.monitor.value_or(""),
      prepared.monitor_fault.empty() ? std::function<void(const std::string&)>(warn) : nullptr);
  trainer.add_observer(&saving);
  EarlyStopping stopping(builder.settings().exp_manager, early_end(run, trainer), warn);
  stopping.restore(begin.trainer_state);
  trainer.add_observer(&stopping);
  trainer.save_checkpoint = [&](int64_t steps_done) {
    return checkpoints.save(parts.strategy->parts(*parts.model), *parts.optimizer,
                            {steps_done, parts.data->state(), stopping.add_state(trainer.state()),
                             saving.monitored(steps_done),
                             link_name(builder.settings(), saving.numbers(), steps_done)});
  };
  trainer.last_save_s = [&] { return checkpoints.last_save_s(); };
  if (!prepared.sets.empty()) {
    trainer.validate = [&](int64_t steps_done) {
      return validate(run, parts, prepared.sets, prepared.scorer.get(), steps_done);
    };
  }
  trainer.stop_requested = [&] { return prepared.interrupt->requested() || has_lost_reader(run); };
  RecordedSteps recorded(run.processes.recorder(), trainer, begin.steps_done);
  trainer.add_observer(&recorded);
  StepProfiler profiler(options.profile, profiled_run(run, parts));
  trainer.add_observer(&profiler);
  const Trainer::End end = trainer.run(begin.steps_done);
  log_times(trainer.times(), run);
  report_left_out(*parts.data, run.log);
  return end;
}

}  // namespace

ExitCode run_training(Run& setup, bool prints_metrics) {
  outlive_readers();
  PreparedRun prepared(setup);
  prepare_place(prepared);
  std::optional<MetricsStream> stream;
  if (prints_metrics && prepared.processes->is_first()) stream.emplace(prepared.folder->path());
  const OpenRun run = prepared.open(stream ? &*stream : nullptr);
  try {
    return prepared.processes->watched([&] {
      prepare_training(prepared);
      if (train(run, prepared) == Trainer::End::kFinished) return ExitCode::kOk;
      run.log.info("stopped with a checkpoint; run the same command to continue");
      return ExitCode::kStopped;
    });
  } catch (const Error& error) {
    // The program prints the error itself.
    run.log.debug(std::string("ended by an error: ") + error.what());
    throw;
  }
}

}  // namespace s2s::run

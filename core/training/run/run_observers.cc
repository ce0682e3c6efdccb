#include "run/run_observers.h"

#include <filesystem>
#include <utility>

#include "config/config_tree.h"
#include "config/load_config.h"
#include "config/secrets.h"
#include "provenance/logged_options.h"
#include "provenance/manifest.h"
#include "run/training_run.h"

namespace s2s::run {
namespace {

CheckpointSettings checkpoint_settings(const OpenRun& run, const ParallelStrategy& strategy) {
  const CheckpointBlock& options =
      run.setup.builder().settings().exp_manager.checkpoint_callback_params;
  CheckpointSettings out;
  if (run.processes.launch().size > 1) out.world = &run.processes.world();
  out.mesh = strategy.mesh();
  out.is_async = options.async_save;
  out.rotation = Rotation{options.save_top_k, options.monitor.has_value(), options.mode == "max"};
  if (run.processes.is_first()) out.lines = run.folder.file("metrics.jsonl");
  out.warn = [&log = run.log](const std::string& message) { log.warning(message); };
  return out;
}

/// exp_manager.name. References replace variables that are not recorded.
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

/// The function that early stopping calls with its reason.
std::function<void(const std::string&)> early_end(const OpenRun& run, Trainer& trainer) {
  return [&log = run.log, &trainer](const std::string& reason) {
    log.info("early stopping: " + reason);
    trainer.finish_early();
  };
}

ProfiledRun profiled_run(const OpenRun& run, const RunParts& parts) {
  ProfiledRun out{parts.model.get(), run.processes.waits(), run.setup.builder().device()};
  out.rank = run.processes.launch().rank;
  out.folder = run.folder.path();
  out.info = [&log = run.log](const std::string& message) { log.info(message); };
  out.warn = [&log = run.log](const std::string& message) { log.warning(message); };
  return out;
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

}  // namespace

std::vector<std::string> checkpoint_attachments(const RunFolder& folder) {
  return {folder.file("config.yaml"), folder.file("manifest.json"), folder.file(kTokenizerCopy),
          folder.file(kLlmCopy)};
}

RunObservers::RunObservers(const OpenRun& run, PreparedRun& prepared, Trainer& trainer)
    : warn_([&log = run.log](const std::string& message) { log.warning(message); }),
      metrics_(metrics_log(run, prepared.begin.steps_done, trainer.owes_validation(), warn_)),
      loggers_(std::move(prepared.loggers), warn_),
      progress_(run.console, run.log, prepared.begin.steps_done,
                run.setup.builder().settings().trainer.max_steps,
                run.setup.builder().settings().trainer.log_every_n_steps),
      checkpoints_(run.folder.checkpoints(), checkpoint_attachments(run.folder),
                   checkpoint_settings(run, *prepared.parts.strategy)),
      saving_(
          checkpoints_,
          run.setup.builder().settings().exp_manager.checkpoint_callback_params.monitor.value_or(
              ""),
          prepared.monitor_fault.empty() ? warn_ : nullptr),
      stopping_(run.setup.builder().settings().exp_manager, early_end(run, trainer), warn_),
      recorded_(run.processes.recorder(), trainer, prepared.begin.steps_done),
      profiler_(run.setup.builder().settings().trainer.profile, profiled_run(run, prepared.parts)) {
  stopping_.restore(prepared.begin.trainer_state);
  if (run.processes.is_first()) loggers_.start(logged_run(run, prepared.begin.steps_done));
  if (metrics_) trainer.add_observer(metrics_.get());
  for (RunObserver* observer : std::initializer_list<RunObserver*>{
           &loggers_, &progress_, &saving_, &stopping_, &recorded_, &profiler_}) {
    trainer.add_observer(observer);
  }
  trainer.save_checkpoint = [this, &parts = prepared.parts, &trainer,
                             &settings = run.setup.builder().settings()](int64_t steps_done) {
    return checkpoints_.save(
        parts.strategy->parts(*parts.model), *parts.optimizer,
        {steps_done, parts.data->state(), stopping_.add_state(trainer.state()),
         saving_.monitored(steps_done), link_name(settings, saving_.numbers(), steps_done)});
  };
  trainer.last_save_s = [this] { return checkpoints_.last_save_s(); };
}

}  // namespace s2s::run

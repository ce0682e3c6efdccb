#include "run/training_run.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>

#include "base/interrupt.h"
#include "base/log.h"
#include "base/machine.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_copies.h"
#include "checkpoint/checkpoint_observer.h"
#include "checkpoint/checkpoint_probe.h"
#include "config/config_tree.h"
#include "config/load_config.h"
#include "config/save_schedule.h"
#include "config/secrets.h"
#include "eval/metrics/monitored_metric.h"
#include "eval/validator.h"
#include "run/bad_steps.h"
#include "run/early_stopping.h"
#include "run/logged_options.h"
#include "run/manifest.h"
#include "run/open_run.h"
#include "run/progress_observer.h"
#include "run/recorded_steps.h"
#include "run/run_loggers.h"
#include "run/run_parts.h"
#include "run/run_processes.h"
#include "run/run_start.h"
#include "run/run_times.h"
#include "run/step_profiler.h"
#include "run/training_validation.h"
#include "train/run_folder.h"
#include "train/run_lock.h"
#include "train/train_errors.h"

namespace s2s::run {
namespace {

constexpr char kStopping[] =
    "stopping after this step with a checkpoint; press ^C again to stop immediately\n";
constexpr char kTerminated[] = "SIGTERM: stopping after this step with a checkpoint\n";
constexpr char kRankTerminated[] =
    "SIGTERM: stopping after this step, with a checkpoint unless a rank is lost\n";

/// Rank 0 writes to the console and to log.txt. The other ranks write to log.RANK.txt.
std::string log_name(const RunProcesses& processes) {
  return processes.is_first() ? "log.txt" : fmt::format("log.{}.txt", processes.place().rank);
}

/// Logs the warnings so far, and connects later warnings of components to the log.
void report_setup(const OpenRun& run) {
  Log& log = run.log;
  run.setup.warnings().send_to([&log](const std::string& message) { log.warning(message); });
  for (const std::string& line : run.setup.notes()) log.info(line);
  for (const Shadowing& shadowed : run.setup.host().scan().shadowed) {
    log.info(fmt::format("{}:{} comes from {}, which shadows {}", shadowed.id.kind,
                         shadowed.id.name, shadowed.winner, shadowed.loser));
  }
  const LaunchPlace& place = run.processes.place();
  const TrainerBlock& trainer = run.setup.builder().settings().trainer;
  if (trainer.elastic_ranks && *trainer.elastic_ranks != place.size) {
    log.info(fmt::format("{} of {} elastic ranks: a step accumulates {} micro-batches on each",
                         place.size, *trainer.elastic_ranks, trainer.accumulate_grad_batches));
  }
  if (place.size > 1) {
    log.info(fmt::format("rank {} of {}, started by {} ({})", place.rank, place.size,
                         to_string(place.launcher), place.reason));
  }
}

/// Rank 0: checks that the disk has room for the weights, and logs when the run saves first.
void check_first_save(const OpenRun& run, const RunParts& parts, int64_t steps_done) {
  int64_t num_bytes = 0;
  for (const LocalShard& part : parts.strategy->parts(*parts.model)) {
    num_bytes += c10::multiply_integers(part.sizes) * static_cast<int64_t>(part.tensor.itemsize());
  }
  const RunOptions& settings = run.setup.builder().settings();
  run.processes.first().run("room for checkpoints", [&] {
    const std::string folder = run.folder.checkpoints();
    const std::string fault = room_fault(folder, num_bytes);
    if (!fault.empty()) throw checkpoint_write_error(folder + "/step=N", fault);
    run.log.info("the first checkpoint of this start is saved " +
                 first_save_text(trainer_settings(run.setup.builder()).saves, steps_done,
                                 settings.trainer.max_steps));
    return std::string();
  });
}

/// Returns the state to start from, and writes the files of the run folder.
RunState prepare(const OpenRun& run, const RunStart& start, RunParts& parts) {
  const RunBuilder& builder = run.setup.builder();
  RunState state = resume(run.setup, start, parts, run.processes.place().rank, run.log);
  run.processes.first().run("files of the run", [&] {
    write_run_files(run.setup, run.folder, start, parts, state.steps_done, run.log);
    return std::string();
  });
  fit_codec_of(parts, builder);
  const int64_t max_steps = builder.settings().trainer.max_steps;
  if (state.steps_done >= max_steps) {
    run.log.info(fmt::format("nothing to do: {} steps are done and trainer.max_steps is {}",
                             state.steps_done, max_steps));
  } else {
    check_first_save(run, parts, state.steps_done);
  }
  return state;
}

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

/// The loggers of rank 0; none on other ranks.
RunLoggers started_loggers(const OpenRun& run, int64_t steps_done,
                           const std::function<void(const std::string&)>& warn) {
  const bool is_first = run.processes.is_first();
  RunLoggers loggers(is_first ? run.setup.builder().loggers() : std::vector<NamedLogger>(), warn);
  if (is_first) loggers.start(logged_run(run, steps_done));
  return loggers;
}

/// The metrics.jsonl of rank 0; null on other ranks.
std::unique_ptr<MetricsLog> metrics_log(const OpenRun& run, int64_t steps_done,
                                        const std::function<void(const std::string&)>& warn) {
  if (!run.processes.is_first()) return nullptr;
  auto metrics = std::make_unique<MetricsLog>(run.folder.file("metrics.jsonl"), steps_done, warn);
  if (run.stream != nullptr) {
    metrics->on_line = [&stream = *run.stream](const std::string& line) { stream.print(line); };
  }
  return metrics;
}

bool has_lost_reader(const OpenRun& run) {
  return run.stream != nullptr && run.stream->is_reader_gone();
}

/// Trains from `begin` on and reports to the run folder, the log and the console.
Trainer::End train(const OpenRun& run, RunParts& parts, const RunState& begin,
                   const InterruptWatch& interrupt) {
  const RunBuilder& builder = run.setup.builder();
  const TrainerBlock& options = builder.settings().trainer;
  TrainerParts trained = parts.of_trainer();
  trained.comm_waits = run.processes.waits();
  Trainer trainer(settings_of_run(run), trained);
  trainer.restore(begin.trainer_state);
  const auto warn = [&](const std::string& message) { run.log.warning(message); };
  const std::unique_ptr<MetricsLog> metrics = metrics_log(run, begin.steps_done, warn);
  if (metrics) trainer.add_observer(metrics.get());
  RunLoggers loggers = started_loggers(run, begin.steps_done, warn);
  trainer.add_observer(&loggers);
  ProgressObserver progress(run.console, run.log, begin.steps_done, options.max_steps,
                            options.log_every_n_steps);
  trainer.add_observer(&progress);
  CheckpointFolder checkpoints(run.folder.checkpoints(), attachments(run.folder),
                               checkpoint_settings(run, *parts.strategy));
  keep_bad_steps(run, parts, trainer);
  const std::string fault = monitor_fault(builder.settings(), parts.model->metric_names());
  if (!fault.empty()) warn(fault);
  CheckpointObserver saving(
      checkpoints, builder.settings().exp_manager.checkpoint_callback_params.monitor.value_or(""),
      fault.empty() ? std::function<void(const std::string&)>(warn) : nullptr);
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
  const Validator::Sets sets = builder.validation_sources(parts.tokenizer.get());
  std::unique_ptr<Scorer> scorer;
  if (!sets.empty()) {
    if (answered_batches(builder.settings())) {
      scorer = prepared_scorer(builder, parts.tokenizer.get(), sets);
    }
    trainer.validate = [&](int64_t steps_done) {
      return validate(run, parts, sets, scorer.get(), steps_done);
    };
    if (begin.steps_done == 0) check_validation(run, parts, sets, scorer.get());
  }
  trainer.stop_requested = [&] { return interrupt.requested() || has_lost_reader(run); };
  RecordedSteps recorded(run.processes.recorder(), trainer, begin.steps_done);
  trainer.add_observer(&recorded);
  StepProfiler profiler(options.profile, profiled_run(run, parts));
  trainer.add_observer(&profiler);
  const Trainer::End end = trainer.run(begin.steps_done);
  log_times(trainer.times(), run);
  report_left_out(*parts.data, run.log);
  return end;
}

/// Called before memory is allocated. Findings about the plan are reported when the model is built.
void forecast_memory(const OpenRun& run) {
  const auto& forecast = run.setup.program().forecast_memory;
  if (!forecast || !run.processes.is_first() || !run.setup.builder().device().is_cpu()) return;
  const auto& place = run.processes.place();
  std::vector<std::string> warnings;
  try {
    forecast(run.setup.config(), run.setup.registries(), {place.size, place.local_size}, warnings);
  } catch (const Error&) {
    return;
  }
  for (const std::string& warning : warnings) run.log.warning(warning);
}

ExitCode run_in(const OpenRun& run, std::unique_ptr<ParallelStrategy> strategy) {
  const TrainerBlock& options = run.setup.builder().settings().trainer;
  if (options.num_threads) at::set_num_threads(static_cast<int>(*options.num_threads));
  link_name(run.setup.builder().settings(), {}, 1);  // a wrong pattern is found before training
  report_setup(run);
  forecast_memory(run);
  run.processes.first().run("data.synth", [&] {
    const auto& make_data = run.setup.program().make_data;
    if (make_data) make_data(run.setup.config());  // it handles ^C itself
    return std::string();
  });
  keep_freed_memory();
  // Pressing ^C during the build ends the run after its first step.
  const bool is_alone = run.processes.place().size == 1;
  const char* const terminated = is_alone ? kTerminated : kRankTerminated;
  const bool speaks = run.processes.is_first();
  const InterruptWatch interrupt(speaks ? kStopping : nullptr, speaks ? terminated : nullptr);
  const RunStart start = find_start(run.setup, run.folder, run.processes);
  run.processes.first().run("place of checkpoints", [&] {
    probe_saving(run.folder.checkpoints());
    return std::string();
  });
  RunParts parts = build_training(run.setup, run.processes, std::move(strategy), start.checkpoint);
  const RunState begin = prepare(run, start, parts);
  if (train(run, parts, begin, interrupt) == Trainer::End::kFinished) return ExitCode::kOk;
  run.log.info("stopped with a checkpoint; run the same command to continue");
  return ExitCode::kStopped;
}

}  // namespace

ExitCode run_training(Run& setup, bool prints_metrics) {
  const auto started = std::chrono::steady_clock::now();
  outlive_readers();
  const std::unique_ptr<RunProcesses> processes =
      meet_other_ranks(setup, {}, /*records_alone=*/true);
  std::unique_ptr<ParallelStrategy> strategy = build_strategy(setup, *processes);
  choose_version(setup, *processes);
  const std::string path = setup.builder().settings().exp_manager.run_folder();
  std::optional<RunLock> lock;  // only on rank 0
  processes->first().run("run folder", [&] {
    const RunFolder locked(path);
    lock.emplace(locked.path());
    locked.remove_left_overs();
    return std::string();
  });
  const RunFolder folder(path);
  std::ofstream nowhere;
  const bool speaks = processes->is_first();
  Console console(speaks ? static_cast<std::ostream&>(std::cerr) : nowhere,
                  speaks && standard_error_is_terminal(), terminal_width());
  Log log(&console, {LogLevel::kInfo, folder.file(log_name(*processes))});
  if (lock && !lock->warning().empty()) log.warning(lock->warning());
  std::optional<MetricsStream> stream;
  if (prints_metrics && speaks) stream.emplace(folder.path());
  try {
    return processes->watched([&] {
      return run_in({setup, *processes, folder, console, log, started, stream ? &*stream : nullptr},
                    std::move(strategy));
    });
  } catch (const Error& error) {
    // The program prints the error itself.
    log.debug(std::string("ended by an error: ") + error.what());
    throw;
  }
}

}  // namespace s2s::run

#include "s2s_run/training_run.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <map>

#include "base/interrupt.h"
#include "base/log.h"
#include "base/memory.h"
#include "config/config_changes.h"
#include "config/load_config.h"
#include "eval/validator.h"
#include "s2s_run/data_synth.h"
#include "s2s_run/manifest.h"
#include "s2s_run/progress_observer.h"
#include "s2s_run/run_processes.h"
#include "s2s_run/training_parts.h"
#include "train/checkpoint.h"
#include "train/checkpoint_copies.h"
#include "train/run_folder.h"

namespace s2s::run {
namespace {

constexpr char kStopping[] =
    "stopping after this step, with a checkpoint; a second ^C stops at once\n";

/// All that a run owns, in the order it is built.
struct Run {
  TrainingParts parts;
  std::map<std::string, SourceFactory> validation;
};

/// Says what differs from the configuration and the plugins that the run had before.
void report_changes(const RunFolder& folder, const RunSetup& setup, Log& log) {
  const std::string plugins = plugin_changes(folder.file("manifest.json"), setup);
  if (!plugins.empty()) log.warning(plugins);
  if (!std::filesystem::exists(folder.file("config.yaml"))) return;
  const Config before = load_effective_config(folder.file("config.yaml"), {});
  for (const std::string& line : config_changes(before, setup.config())) {
    log.warning("the run goes on with another configuration: " + line);
  }
}

/// Where a run goes on from.
struct Start {
  std::string checkpoint;      // "" for a fresh run
  bool is_of_this_run = true;  // false: exp_manager.resume_from_checkpoint
};

/// The newest checkpoint of the run folder, or the one that was asked for. Errors: [run/not-empty].
Start find_start(const RunSetup& setup, const RunFolder& folder) {
  const ExpManagerBlock& manager = setup.builder().settings().exp_manager;
  if (!manager.resume_if_exists) folder.check_unused();
  const std::string newest = CheckpointFolder(folder.checkpoints(), {}).newest();
  if (!newest.empty() || !manager.resume_from_checkpoint) return {newest, true};
  return {*manager.resume_from_checkpoint, false};
}

/// Returns the optimizer steps done. Errors: those of checkpoints.
int64_t resume(const RunSetup& setup, const RunFolder& folder, const Start& start, Run& run,
               Log& log) {
  if (start.checkpoint.empty()) return 0;
  check_same_parts(start.checkpoint, setup.config());
  load_model(start.checkpoint, *run.parts.model);
  if (is_weights_only(start.checkpoint)) {
    log.info(fmt::format("begins with the weights of {}", start.checkpoint));
    return 0;
  }
  const RunState state = load_run_state(start.checkpoint, *run.parts.optimizer);
  run.parts.data->restore(state.data_state);
  log.info(fmt::format("resumed from {} at step {}", start.checkpoint, state.steps_done));
  if (start.is_of_this_run) report_changes(folder, setup, log);
  return state.steps_done;
}

/// Says what is unusual, and lets parts say so from now on.
void report_setup(const RunSetup& setup, Log& log) {
  setup.warnings().send_to([&log](const std::string& message) { log.warning(message); });
  for (const std::string& line : setup.notes()) log.info(line);
  for (const Shadowing& shadowed : setup.host().scan().shadowed) {
    log.info(fmt::format("{}:{} comes from {}, which shadows {}", shadowed.id.kind,
                         shadowed.id.name, shadowed.winner, shadowed.loser));
  }
}

/// The state to start from, and what the run folder says about it. Returns the steps done.
int64_t prepare(const RunSetup& setup, const RunFolder& folder, const Start& start, Run& run,
                Log& log) {
  const RunBuilder& builder = setup.builder();
  const int64_t first_step = resume(setup, folder, start, run, log);
  folder.write_config(effective_text(setup.config()));
  folder.write_manifest(run_manifest(setup));
  if (run.parts.tokenizer) folder.keep_copies(kTokenizerCopy, run.parts.tokenizer->files());
  folder.keep_copies(kLlmCopy, llm_files(with_checkpoint_copies(setup.config(), start.checkpoint)));
  fit_codec_of(run.parts, builder);
  const int64_t max_steps = builder.settings().trainer.max_steps;
  if (first_step >= max_steps) {
    log.info(fmt::format("nothing to do: {} steps are done and trainer.max_steps is {}", first_step,
                         max_steps));
  }
  return first_step;
}

ValidationSettings validation_settings(const RunBuilder& builder) {
  ValidationSettings out;
  out.limit_batches = builder.settings().trainer.limit_val_batches.value_or(0);
  out.device = builder.device();
  out.precision = builder.precision();
  return out;
}

/// Trains from `first_step` on and tells the run folder, the log and the console.
Trainer::End train(const RunBuilder& builder, const RunFolder& folder, Run& run, int64_t first_step,
                   RunObserver& progress, const InterruptWatch& interrupt) {
  const RunOptions& settings = builder.settings();
  const CheckpointFolder checkpoints(folder.checkpoints(),
                                     {folder.file("config.yaml"), folder.file("manifest.json"),
                                      folder.file(kTokenizerCopy), folder.file(kLlmCopy)});
  Trainer trainer(trainer_settings(builder), run.parts.of_trainer());
  MetricsLog metrics(folder.file("metrics.jsonl"), first_step);
  trainer.add_observer(&metrics);
  trainer.add_observer(&progress);
  trainer.save_checkpoint = [&](int64_t steps_done) {
    const std::string path = checkpoints.save(*run.parts.model, *run.parts.optimizer,
                                              {steps_done, run.parts.data->state()});
    checkpoints.rotate(settings.exp_manager.checkpoint_callback_params.save_top_k, {});
    return path;
  };
  if (!run.validation.empty()) {
    trainer.validate = [&](int64_t steps_done) {
      return Validator(*run.parts.model, run.validation, validation_settings(builder))
          .run(steps_done);
    };
  }
  trainer.stop_requested = [&] { return interrupt.requested(); };
  return trainer.run(first_step);
}

ExitCode run_in(const RunSetup& setup, const RunFolder& folder, Console& console, Log& log) {
  const RunBuilder& builder = setup.builder();
  const TrainerBlock& options = builder.settings().trainer;
  if (options.num_threads) at::set_num_threads(static_cast<int>(*options.num_threads));
  report_setup(setup, log);
  make_configured_set(setup.config(), ".");  // it watches for ^C itself
  keep_freed_memory();
  const InterruptWatch interrupt(kStopping);  // ^C while building ends the run after its first step
  const Start start = find_start(setup, folder);
  Run run{build_training(setup, start.checkpoint), {}};
  run.validation = builder.validation_sources(run.parts.tokenizer.get());
  const int64_t first_step = prepare(setup, folder, start, run, log);
  ProgressObserver progress(console, log, first_step, options.max_steps, options.log_every_n_steps);
  if (train(builder, folder, run, first_step, progress, interrupt) == Trainer::End::kFinished) {
    return ExitCode::kOk;
  }
  log.info("stopped with a checkpoint; the same command continues");
  return ExitCode::kStopped;
}

}  // namespace

ExitCode run_training(const RunSetup& setup) {
  meet_other_ranks(setup);
  const RunFolder folder(setup.builder().settings().exp_manager.run_folder());
  Console console(std::cerr, standard_error_is_terminal(), terminal_width());
  Log log(&console, {LogLevel::kInfo, folder.file("log.txt")});
  try {
    return run_in(setup, folder, console, log);
  } catch (const Error& error) {
    log.debug(std::string("ended by an error: ") + error.what());  // the program prints it itself
    throw;
  }
}

}  // namespace s2s::run

#include "run/training_run.h"

#include <fmt/format.h>

#include <optional>

#include "base/machine.h"
#include "profile/run_times.h"
#include "run/bad_steps.h"
#include "run/run_observers.h"
#include "run/run_preparation.h"
#include "run/training_validation.h"

namespace s2s::run {
namespace {

/// At the end, logs again which cuts skip_bad left out on this rank.
void report_left_out(const DataSource& data, Log& log) {
  const std::vector<std::string> lines = data.left_out();
  if (lines.empty()) return;
  std::string text = fmt::format("skipped bad cuts: {}", lines.size());
  for (const std::string& line : lines) text += "\n  " + line;
  log.warning(text);
}

/// The trainer's settings, with the peak FLOPS of the ranks and the time used so far.
TrainerSettings settings_of_run(const OpenRun& run) {
  const RunBuilder& builder = run.setup.builder();
  TrainerSettings settings = trainer_settings(builder);
  const std::optional<double>& given = builder.settings().trainer.peak_tflops;
  const Precision& precision = builder.precision();
  const at::ScalarType type = precision.autocast.value_or(precision.parameter_type);
  const double of_rank = given ? 1e12 * *given : measured_flops(builder.device(), type);
  settings.peak_flops = of_rank * static_cast<double>(run.processes.launch().size);
  settings.used_time_s = run.used_time_s();
  return settings;
}

void log_times(const RunTimes& times, const OpenRun& run) {
  const std::string table = time_table(times);
  if (!table.empty()) run.log.debug(table);
}

/// Makes the trainer save failed steps.
void keep_bad_steps(const OpenRun& run, const RunParts& parts, Trainer& trainer) {
  BadStepsOptions settings;
  settings.folder = run.folder.file("bad_steps");
  settings.attachments = checkpoint_attachments(run.folder);
  if (run.processes.launch().size > 1) settings.checkpoints.world = &run.processes.world();
  settings.checkpoints.mesh = parts.strategy->mesh();
  settings.rank = run.processes.launch().rank;
  settings.num_ranks = run.processes.launch().size;
  trainer.save_step = bad_step_saver(
      std::move(settings), parts, [&trainer] { return trainer.state(); },
      [&log = run.log](const std::string& message) { log.warning(message); });
}

bool has_lost_reader(const OpenRun& run) {
  return run.stream != nullptr && run.stream->is_reader_gone();
}

/// Trains the prepared run, and reports to the run folder, the log and the console.
Trainer::End train(const OpenRun& run, PreparedRun& prepared) {
  RunParts& parts = prepared.parts;
  TrainerParts trained = parts.of_trainer();
  trained.comm_waits = run.processes.waits();
  Trainer trainer(settings_of_run(run), trained);
  trainer.restore(prepared.begin.trainer_state);
  keep_bad_steps(run, parts, trainer);
  if (!prepared.sets.empty()) {
    trainer.validate = [&](int64_t steps_done) {
      return validate(run, parts, prepared.sets, prepared.scorer.get(), steps_done);
    };
  }
  trainer.stop_requested = [&] { return prepared.interrupt->requested() || has_lost_reader(run); };
  const RunObservers observers(run, prepared, trainer);
  const Trainer::End end = trainer.run(prepared.begin.steps_done);
  log_times(trainer.times(), run);
  report_left_out(*parts.data, run.log);
  return end;
}

}  // namespace

ExitCode run_training(Run& setup, bool prints_metrics) {
  outlive_readers();
  PreparedRun prepared(setup);
  prepare_run_folder(prepared);
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

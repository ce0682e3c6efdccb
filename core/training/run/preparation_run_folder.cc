// Steps of a preparation: ranks, run folder, settings, start, files.

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "base/machine.h"
#include "checkpoint/checkpoint_probe.h"
#include "comm/rank0.h"
#include "config/save_schedule.h"
#include "plan/mesh.h"
#include "run/meta_model.h"
#include "run/preparation_steps.h"
#include "train/train_errors.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

/// Rank 0 writes to the console and to log.txt. The other ranks write to log.RANK.txt.
std::string log_name(const RunProcesses& processes) {
  return processes.is_first() ? "log.txt" : fmt::format("log.{}.txt", processes.launch().rank);
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
  const LaunchEnvironment& launch = run.processes.launch();
  const TrainerBlock& trainer = run.setup.builder().settings().trainer;
  if (trainer.elastic_ranks && *trainer.elastic_ranks != launch.size) {
    log.info(fmt::format("{} of {} elastic ranks: a step accumulates {} micro-batches on each",
                         launch.size, *trainer.elastic_ranks, trainer.accumulate_grad_batches));
  }
  if (launch.size > 1) {
    log.info(fmt::format("rank {} of {}, started by {} ({})", launch.rank, launch.size,
                         to_string(launch.launcher), launch.reason));
  }
}

/// On ^C, lets the training stop after its step, with a checkpoint.
void watch_interrupts(PreparedRun& run) {
  static constexpr char kStopping[] =
      "stopping after this step with a checkpoint; press ^C again to stop immediately\n";
  static constexpr char kTerminated[] = "SIGTERM: stopping after this step with a checkpoint\n";
  static constexpr char kRankTerminated[] =
      "SIGTERM: stopping after this step, with a checkpoint unless a rank is lost\n";
  const bool is_alone = run.processes->launch().size == 1;
  const bool speaks = run.processes->is_first();
  const char* const terminated = is_alone ? kTerminated : kRankTerminated;
  run.interrupt.emplace(speaks ? kStopping : nullptr, speaks ? terminated : nullptr);
}

/// The strategy of rank 0 of simulated ranks. Null if the number of ranks is not known and the
/// strategy cannot use one rank.
std::unique_ptr<ParallelStrategy> strategy_of_check(Preparation& preparation) {
  const Run& setup = preparation.run.setup;
  const std::optional<int64_t> ranks = ranks_to_try(setup.config());
  preparation.run.simulated = make_simulated_ranks(ranks.value_or(1));
  try {
    return simulated_strategy(setup.registries(), setup.config(), *preparation.run.simulated);
  } catch (const Error&) {
    if (ranks) throw;
    return nullptr;
  }
}

}  // namespace

bool meet_ranks(Preparation& preparation) {
  PreparedRun& run = preparation.run;
  if (preparation.checks()) {
    run.processes = std::make_unique<RunProcesses>();
    run.parts.strategy = strategy_of_check(preparation);
    return true;
  }
  run.processes = meet_other_ranks(run.setup, {}, /*records_alone=*/true);
  run.parts.strategy = build_strategy(run.setup, *run.processes);
  return true;
}

bool open_run_folder(Preparation& preparation) {
  PreparedRun& run = preparation.run;
  choose_version(run.setup, *run.processes);
  const std::string path = preparation.settings().exp_manager.run_folder();
  if (preparation.checks()) {
    const std::string fault = place_fault(path, /*saves=*/false);
    if (!fault.empty()) throw_run_folder(path, fault);
    run.folder = RunFolder::unmade(path);
    return true;
  }
  run.processes->first().run("run folder", [&] {
    const RunFolder locked(path);
    run.lock.emplace(locked.path());
    locked.remove_left_overs();
    return std::string();
  });
  run.folder.emplace(path);
  return true;
}

/// A check opens an existing log and creates none.
bool open_log(Preparation& preparation) {
  PreparedRun& run = preparation.run;
  const std::string file = run.folder->file(log_name(*run.processes));
  std::error_code ignored;
  if (preparation.checks()) {
    run.console.emplace(run.nowhere, false);
    run.log.emplace(nullptr, LogSettings{LogLevel::kInfo, fs::exists(file, ignored) ? file : ""});
    return true;
  }
  const bool speaks = run.processes->is_first();
  run.console.emplace(speaks ? static_cast<std::ostream&>(std::cerr) : run.nowhere,
                      speaks && standard_error_is_terminal(), terminal_width());
  run.log.emplace(&*run.console, LogSettings{LogLevel::kInfo, file});
  if (run.lock && !run.lock->warning().empty()) run.log->warning(run.lock->warning());
  return true;
}

bool read_settings(Preparation& preparation) {
  const TrainerBlock& options = preparation.settings().trainer;
  if (!preparation.checks()) {
    if (options.num_threads) at::set_num_threads(static_cast<int>(*options.num_threads));
    report_setup(preparation.run.open());
  }
  preparation.attempt([&] { link_name(preparation.settings(), {}, 1); });
  preparation.attempt([&] { check_update_in_backward(trainer_settings(preparation.builder())); });
  return true;
}

bool make_data(Preparation& preparation) {
  PreparedRun& run = preparation.run;
  if (preparation.checks()) {
    const std::string folder = data_to_make(run.setup);
    if (!folder.empty()) {
      preparation.check->notes.push_back("data.synth: training makes " + folder +
                                         " first; its content cannot be checked yet");
    }
    return true;
  }
  run.processes->first().run("data.synth", [&] {
    const auto& make = run.setup.program().make_data;
    if (make) make(run.setup.config());  // it handles ^C itself
    return std::string();
  });
  keep_freed_memory();
  watch_interrupts(run);
  return true;
}

bool choose_start(Preparation& preparation) {
  PreparedRun& run = preparation.run;
  run.start = find_start(run.setup, *run.folder, *run.processes, !preparation.checks());
  return true;
}

bool try_checkpoints(Preparation& preparation) {
  const PreparedRun& run = preparation.run;
  const std::string folder = run.folder->checkpoints();
  if (preparation.checks()) {
    const std::string fault = place_fault(folder, /*saves=*/true);
    if (!fault.empty()) throw checkpoint_write_error(folder + "/step=N", fault);
    return true;
  }
  run.processes->first().run("place of checkpoints", [&] {
    probe_saving(folder);
    return std::string();
  });
  return true;
}

bool write_files(Preparation& preparation) {
  PreparedRun& run = preparation.run;
  if (preparation.checks()) {
    run.folder->check_copies("snapshot/files", preparation.settings().exp_manager.files_to_copy);
    return true;
  }
  run.processes->first().run("files of the run", [&] {
    write_run_files(run.setup, *run.folder, run.start, run.parts, run.begin.steps_done, *run.log);
    return std::string();
  });
  return true;
}

/// Checks that the disk has room for the weights. A check only warns, because training may run on
/// another machine. Training also logs when it saves first.
bool find_room(Preparation& preparation) {
  PreparedRun& run = preparation.run;
  const std::string folder = run.folder->checkpoints();
  const int64_t max_steps = preparation.settings().trainer.max_steps;
  int64_t num_bytes = 0;
  if (preparation.checks()) {
    for (const NamedTensor& parameter : run.parts.model->named_parameters()) {
      num_bytes += static_cast<int64_t>(parameter.tensor->nbytes());
    }
    const std::string fault = room_fault(folder, num_bytes);
    if (!fault.empty()) {
      run.setup.warnings().add(checkpoint_write_error(folder + "/step=N", fault).what());
    }
    return true;
  }
  if (run.begin.steps_done >= max_steps) {
    run.log->info(fmt::format("nothing to do: {} steps are done and trainer.max_steps is {}",
                              run.begin.steps_done, max_steps));
    return true;
  }
  for (const LocalShard& part : run.parts.strategy->parts(*run.parts.model)) {
    num_bytes += c10::multiply_integers(part.sizes) * static_cast<int64_t>(part.tensor.itemsize());
  }
  run.processes->first().run("room for checkpoints", [&] {
    const std::string fault = room_fault(folder, num_bytes);
    if (!fault.empty()) throw checkpoint_write_error(folder + "/step=N", fault);
    run.log->info("the first checkpoint of this start is saved " +
                  first_save_text(trainer_settings(preparation.builder()).saves,
                                  run.begin.steps_done, max_steps));
    return std::string();
  });
  return true;
}

}  // namespace s2s::run

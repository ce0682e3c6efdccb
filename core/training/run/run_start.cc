#include "run/run_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/foreign_json.h"
#include "base/number_text.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_copies.h"
#include "checkpoint/checkpoint_traces.h"
#include "config/config_tree.h"
#include "config/load_config.h"
#include "config/secrets.h"
#include "provenance/manifest.h"
#include "provenance/snapshot.h"
#include "train/train_errors.h"

namespace s2s::run {
namespace {

using nlohmann::json;

/// The learning rate of a step in a configuration, or nothing if it cannot be computed.
std::optional<double> learning_rate_of(const Config& config, int64_t step,
                                       const Registries& registries) {
  const Config* const schedule = config.find_path("model.lr_scheduler");
  const Config* const base = config.find_path("model.optimizer.lr");
  if (schedule == nullptr || base == nullptr) return std::nullopt;
  try {
    BuildContext context;
    context.path = "model.lr_scheduler";
    return registries.create<Schedule>(*schedule, context)
        ->learning_rate(step, base->as_double("model.optimizer.lr"));
  } catch (const Error&) {
    return std::nullopt;  // a plugin that is no longer available
  }
}

/// Reports a jump of the learning rate. A schedule that ends at trainer.max_steps changes when
/// max_steps changes.
std::string jump_of_learning_rate(const Config& before, const Run& setup, const RunParts& parts,
                                  int64_t step) {
  const auto old_rate = learning_rate_of(before, step, setup.registries());
  const double rate = parts.schedule->learning_rate(step, parts.optimizer->base_learning_rate());
  if (!old_rate || (rate <= 2 * *old_rate && *old_rate <= 2 * rate)) return "";
  return fmt::format(
      "the learning rate of step {} is {:.2g}, but was {:.2g} in the previous configuration; to "
      "keep it, use the previous model.lr_scheduler",
      step, rate, *old_rate);
}

/// Logs the differences from the configuration and the plugins of the previous start.
void report_changes(const RunFolder& folder, const Run& setup, const RunParts& parts,
                    int64_t steps_done, Log& log) {
  const std::string plugins = plugin_changes(folder.file("manifest.json"), setup.host());
  if (!plugins.empty()) log.warning(plugins);
  if (!std::filesystem::exists(folder.file("config.yaml"))) return;
  // Compare both as stored, with secrets removed: the environment may have changed.
  const Config before = load_config(folder.file("config.yaml"));
  for (const std::string& line : config_changes(before, stored_config(setup.config()))) {
    log.warning("the run continues with a changed configuration: " + line);
  }
  const std::string jump = jump_of_learning_rate(before, setup, parts, steps_done + 1);
  const bool has_next = steps_done < setup.builder().settings().trainer.max_steps;
  if (has_next && !jump.empty()) log.warning(jump);
}

/// `changes`: also removes the remains of interrupted saves.
RunStart look_for_start(const ExpManagerBlock& manager, const RunFolder& folder, Warnings& warnings,
                        bool changes) {
  if (!manager.resume_if_exists) folder.check_unused();
  // Before newest(), which removes the remains of interrupted saves and removals.
  if (!manager.resume_from_checkpoint) check_traces(folder.path());
  CheckpointSettings settings;
  settings.warn = [&](const std::string& message) { warnings.add(message); };
  const std::string newest = changes ? CheckpointFolder(folder.checkpoints(), {}, settings).newest()
                                     : newest_checkpoint(folder.checkpoints(), settings.warn);
  const bool must_resume = manager.resume_if_exists && !manager.resume_ignore_no_checkpoint;
  if (newest.empty() && must_resume) throw_nothing_to_resume(folder.path());
  if (!newest.empty() || !manager.resume_from_checkpoint) return {newest, true};
  return {checkpoint_of(*manager.resume_from_checkpoint), false};
}

/// "version_3" if version_2 exists. Ignores other names.
std::string next_version(const std::filesystem::path& folder) {
  constexpr std::string_view kPrefix = "version_";
  int64_t next = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    next = std::max(next, read_number<int64_t>(name.substr(kPrefix.size())).value_or(-1) + 1);
  }
  return fmt::format("{}{}", kPrefix, next);
}

/// The local time as NeMo writes it: "2026-01-31_23-59-59".
std::string date_version() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d_%H-%M-%S", &local);
  return text.data();
}

/// Logs what happens to the moving average of a checkpoint.
void report_average(const std::string& checkpoint, const RunParts& parts, Log& log) {
  const bool has_one = has_average(checkpoint);
  if (parts.average != nullptr && !has_one) {
    log.warning(fmt::format("{} has no moving average of the weights; it begins with its weights",
                            checkpoint));
  } else if (parts.average == nullptr && has_one) {
    log.warning(
        fmt::format("the moving average of the weights in {} does not continue; set "
                    "exp_manager.ema.enable: true to keep it",
                    checkpoint));
  }
}

}  // namespace

void choose_version(Run& setup, const RunProcesses& processes) {
  const ExpManagerBlock& manager = setup.builder().settings().exp_manager;
  if (!manager.needs_version()) return;
  setup.builder().set_version(processes.first().run("exp_manager.version", [&] {
    return manager.use_datetime_version ? date_version() : next_version(manager.run_folder());
  }));
}

RunStart find_start(const Run& setup, const RunFolder& folder, const RunProcesses& processes,
                    bool changes) {
  const std::string found = processes.first().run("checkpoint to start from", [&] {
    const RunStart start =
        look_for_start(setup.builder().settings().exp_manager, folder, setup.warnings(), changes);
    return json{start.checkpoint, start.is_of_this_run}.dump();
  });
  const json start = parse_foreign_json(found);
  return {start.at(0), start.at(1)};
}

RunState resume(const Run& setup, const RunStart& start, RunParts& parts, int64_t rank, Log& log) {
  if (start.checkpoint.empty()) return {};
  check_same_parts(start.checkpoint, setup.config());
  ParallelStrategy& strategy = *parts.strategy;
  const std::vector<LocalShard> held = strategy.parts(*parts.model);
  load_model(start.checkpoint, *parts.model, held);
  strategy.after_update(*parts.model);
  if (is_weights_only(start.checkpoint)) {
    log.info(fmt::format("starting from the weights of {}", start.checkpoint));
    return {};
  }
  report_average(start.checkpoint, parts, log);
  RunState state =
      load_run_state(start.checkpoint, *parts.optimizer, held, {strategy.mesh(), rank});
  parts.data->restore(state.data_state);
  log.info(fmt::format("resumed from {} at step {}", start.checkpoint, state.steps_done));
  return state;
}

void write_run_files(const Run& setup, const RunFolder& folder, const RunStart& start,
                     const RunParts& parts, int64_t steps_done, Log& log) {
  const bool goes_on = !start.checkpoint.empty() && start.is_of_this_run;
  if (goes_on && !is_weights_only(start.checkpoint))
    report_changes(folder, setup, parts, steps_done, log);
  folder.write_config(effective_text(setup.config()));
  json manifest = run_manifest(setup.host());
  manifest["run_id"] = run_id_of(folder.file("manifest.json"));
  folder.write_manifest(manifest);
  write_snapshot(folder, setup.builder().settings().exp_manager.files_to_copy,
                 [&log](const std::string& message) { log.warning(message); });
  if (parts.tokenizer) folder.keep_copies(kTokenizerCopy, parts.tokenizer->files());
  folder.keep_copies(kLlmCopy, llm_files(with_checkpoint_copies(setup.config(), start.checkpoint)));
}

}  // namespace s2s::run

#include "s2s_run/training_start.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/foreign_json.h"
#include "config/config_changes.h"
#include "config/load_config.h"
#include "config/secrets.h"
#include "s2s_run/manifest.h"
#include "train/checkpoint_copies.h"

namespace s2s::run {
namespace {

using nlohmann::json;

/// Says what differs from the configuration and the plugins that the run had before.
void report_changes(const RunFolder& folder, const RunSetup& setup, Log& log) {
  const std::string plugins = plugin_changes(folder.file("manifest.json"), setup);
  if (!plugins.empty()) log.warning(plugins);
  if (!std::filesystem::exists(folder.file("config.yaml"))) return;
  // Both as they are stored: the environment is another one, and secrets are in neither.
  const Config before = load_config(folder.file("config.yaml"));
  for (const std::string& line : config_changes(before, stored_config(setup.config()))) {
    log.warning("the run goes on with another configuration: " + line);
  }
}

TrainingStart look_for_start(const ExpManagerBlock& manager, const RunFolder& folder,
                             Warnings& warnings) {
  if (!manager.resume_if_exists) folder.check_unused();
  CheckpointSettings settings;
  settings.warn = [&](const std::string& message) { warnings.add(message); };
  const std::string newest = CheckpointFolder(folder.checkpoints(), {}, settings).newest();
  if (!newest.empty() || !manager.resume_from_checkpoint) return {newest, true};
  return {*manager.resume_from_checkpoint, false};
}

}  // namespace

TrainingStart find_start(const RunSetup& setup, const RunFolder& folder,
                         const RunProcesses& processes) {
  const std::string found = processes.first().run("checkpoint to begin with", [&] {
    const TrainingStart start =
        look_for_start(setup.builder().settings().exp_manager, folder, setup.warnings());
    return json{start.checkpoint, start.is_of_this_run}.dump();
  });
  const json start = parse_foreign_json(found);
  return {start.at(0), start.at(1)};
}

RunState resume(const RunSetup& setup, const TrainingStart& start, TrainingParts& parts,
                int64_t rank, Log& log) {
  if (start.checkpoint.empty()) return {};
  check_same_parts(start.checkpoint, setup.config());
  ParallelStrategy& strategy = *parts.strategy;
  const std::vector<TensorPart> held = strategy.parts(*parts.model);
  load_model(start.checkpoint, *parts.model, held);
  strategy.after_update(*parts.model);
  if (is_weights_only(start.checkpoint)) {
    log.info(fmt::format("begins with the weights of {}", start.checkpoint));
    return {};
  }
  RunState state =
      load_run_state(start.checkpoint, *parts.optimizer, held, {strategy.mesh(), rank});
  parts.data->restore(state.data_state);
  log.info(fmt::format("resumed from {} at step {}", start.checkpoint, state.steps_done));
  return state;
}

void write_run_files(const RunSetup& setup, const RunFolder& folder, const TrainingStart& start,
                     const Tokenizer* tokenizer, Log& log) {
  const bool goes_on = !start.checkpoint.empty() && start.is_of_this_run;
  if (goes_on && !is_weights_only(start.checkpoint)) report_changes(folder, setup, log);
  folder.write_config(effective_text(setup.config()));
  folder.write_manifest(run_manifest(setup));
  if (tokenizer != nullptr) folder.keep_copies(kTokenizerCopy, tokenizer->files());
  folder.keep_copies(kLlmCopy, llm_files(with_checkpoint_copies(setup.config(), start.checkpoint)));
}

}  // namespace s2s::run

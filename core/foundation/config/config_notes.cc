#include "config/config_notes.h"

#include <fmt/format.h>

#include "config/config_errors.h"

namespace s2s {
namespace {

constexpr size_t kMostLines = 2;

/// "trainer.logger" of "trainer.logger (my.yaml:3:1): metrics.jsonl always holds every number".
std::string path_of(const std::string& line) { return line.substr(0, line.find(' ')); }

constexpr const char* kMetrics = "metrics.jsonl always contains all values";
constexpr const char* kExport = "export a checkpoint to get other formats";

/// The map that holds the last step of a dotted path of plain names, or null.
Config* parent_of(Config& config, const std::string& path) {
  Config* node = &config;
  size_t start = 0;
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', start)) {
    node = node->find(path.substr(start, dot - start));
    if (node == nullptr) return nullptr;
    start = dot + 1;
  }
  return node;
}

}  // namespace

std::vector<std::string> ConfigNotes::all() const {
  std::vector<std::string> lines;
  for (const std::string& key : without_effect) lines.push_back("ignored: " + key);
  lines.insert(lines.end(), others.begin(), others.end());
  return lines;
}

std::vector<std::string> ConfigNotes::brief() const {
  if (without_effect.size() <= kMostLines) return all();
  std::string paths;
  for (const std::string& key : without_effect) {
    paths += (paths.empty() ? "" : ", ") + path_of(key);
  }
  std::vector<std::string> lines = {
      fmt::format("{} keys are ignored ('s2s-run config check' explains why): {}",
                  without_effect.size(), paths)};
  lines.insert(lines.end(), others.begin(), others.end());
  return lines;
}

const std::vector<KeyWithoutEffect>& keys_without_effect() {
  static const std::vector<KeyWithoutEffect> kKeys = {
      {"trainer.logger", kMetrics},
      {"trainer.enable_checkpointing", "exp_manager decides when"},
      {"trainer.use_distributed_sampler", "data sources distribute their data"},
      {"trainer.num_sanity_val_steps", "a run is always checked before it starts"},
      {"trainer.enable_progress_bar", "this depends on the terminal"},
      {"trainer.enable_model_summary", "s2s-run plan prints it"},
      {"trainer.benchmark", "kernels are not chosen by benchmarks"},
      {"exp_manager.create_checkpoint_callback", "checkpoints are always written"},
      {"exp_manager.use_datetime_version", "the run folder is the one given"},
      {"exp_manager.resume_ignore_no_checkpoint", "without a checkpoint, a run starts from step 0"},
      {"exp_manager.checkpoint_callback_params.filename", "the name is always step=N"},
      {"exp_manager.checkpoint_callback_params.save_last", "`last` always exists"},
      {"exp_manager.checkpoint_callback_params.always_save_nemo", kExport},
      {"exp_manager.checkpoint_callback_params.save_nemo_on_train_end", kExport},
  };
  return kKeys;
}

std::vector<std::string> take_keys_without_effect(Config& config) {
  std::vector<std::string> notes;
  for (const auto& [path, reason] : keys_without_effect()) {
    const std::string key = path.substr(path.rfind('.') + 1);
    Config* parent = parent_of(config, path);
    const Config* found = parent == nullptr ? nullptr : parent->find(key);
    if (found == nullptr) continue;
    notes.push_back(config_place(path, *found) + ": " + reason);
    parent->erase(key);
  }
  return notes;
}

}  // namespace s2s

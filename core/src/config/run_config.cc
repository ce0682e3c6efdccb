#include "config/run_config.h"

#include "config/config_errors.h"

namespace s2s {

void TrainerBlock::visit(OptionVisitor& v) {
  v("accelerator", accelerator, "where to compute", one_of({"auto", "cpu", "gpu"}));
  v("precision", precision, "32-true, bf16-true or bf16-mixed",
    one_of({"32-true", "32", "bf16-true", "bf16-mixed", "bf16"}));
  v("max_steps", max_steps, "optimizer steps of the whole run", at_least(1));
  v("val_check_interval", val_check_interval, "optimizer steps between validations; null: never",
    at_least(1));
  v("limit_val_batches", limit_val_batches, "batches of each set while training; null: all",
    at_least(1));
  v("log_every_n_steps", log_every_n_steps, "steps between lines on the console", at_least(1));
  v("gradient_clip_val", gradient_clip_val, "largest norm of all gradients; null: no limit",
    at_least(0));
  v("accumulate_grad_batches", accumulate_grad_batches, "micro-batches per optimizer step",
    at_least(1));
  v("seed", seed, "of first values and of random choices in the model");
  v("num_threads", num_threads, "threads of the CPU; null: one per core", at_least(1));
  v("codec_fit_batches", codec_fit_batches, "batches that a codec's statistics are fitted to",
    at_least(1));
  v("strategy", strategy, "name of the parallel strategy, and its options", "strategy");
}

void CheckpointBlock::visit(OptionVisitor& v) {
  v("every_n_train_steps", every_n_train_steps, "optimizer steps; null: at the end only",
    at_least(1));
  v("save_top_k", save_top_k, "newest checkpoints that are kept", at_least(1));
}

void ExpManagerBlock::visit(OptionVisitor& v) {
  v("exp_dir", exp_dir, "folder of runs; the run's own folder is exp_dir/name");
  v("explicit_log_dir", explicit_log_dir, "the run's folder itself");
  v("name", name, "the run's name");
  v("max_time_per_run", max_time_per_run, "DD:HH:MM:SS; then stop with a checkpoint");
  v("resume_from_checkpoint", resume_from_checkpoint, "checkpoint folder to begin from");
  v("resume_if_exists", resume_if_exists,
    "continue from the newest checkpoint of the run's folder");
  v("checkpoint_callback_params", checkpoint_callback_params, "when checkpoints are written");
}

void LrScaleBlock::visit(OptionVisitor& v) {
  v("params", params, "regular expression, matched at the start of parameter names", required());
  v("scale", scale, "factor on the learning rate", at_least(0));
}

void OptimizerBlock::visit(OptionVisitor& v) {
  v("lr_scales", lr_scales, "factors on the learning rate of some parameters");
}

void ModelBlock::visit(OptionVisitor& v) {
  v("type", type, "name of the model component", required());
  v("freeze_params", freeze_params, "patterns of parameters that do not train");
  v("prevent_freeze_params", prevent_freeze_params, "patterns that win over freeze_params");
  v("tokenizer", tokenizer, "name of the tokenizer, and its options", "tokenizer");
  v("optimizer", optimizer, "name of the optimizer, and its options", "optimizer");
  v("lr_scheduler", lr_scheduler, "name of the schedule, and its options", "schedule");
  v("scoring_asr", scoring_asr, "name of the listener that judges answers, and its options",
    "scorer");
}

namespace {
constexpr const char* kLauncher = "the launcher starts the processes";
constexpr const char* kMetrics = "metrics.jsonl always holds every number";
constexpr const char* kNewest = "the newest checkpoints are kept";
constexpr const char* kNoEpochs = "a run has steps and no epochs";
constexpr const char* kExport = "other formats are exported from a checkpoint";
}  // namespace

const std::vector<KeyWithoutEffect>& keys_without_effect() {
  static const std::vector<KeyWithoutEffect> kKeys = {
      {"trainer.devices", kLauncher},
      {"trainer.num_nodes", kLauncher},
      {"trainer.logger", kMetrics},
      {"trainer.enable_checkpointing", "exp_manager says when"},
      {"trainer.use_distributed_sampler", "data sources share out their data"},
      {"trainer.limit_train_batches", kNoEpochs},
      {"trainer.num_sanity_val_steps", "a run is checked before it starts"},
      {"trainer.enable_progress_bar", "the terminal decides"},
      {"trainer.enable_model_summary", "s2s-run plan prints it"},
      {"trainer.benchmark", "kernels are not chosen by trying them"},
      {"exp_manager.create_tensorboard_logger", kMetrics},
      {"exp_manager.create_wandb_logger", kMetrics},
      {"exp_manager.wandb_logger_kwargs", kMetrics},
      {"exp_manager.create_checkpoint_callback", "checkpoints are always written"},
      {"exp_manager.use_datetime_version", "the run's folder is the one named"},
      {"exp_manager.resume_ignore_no_checkpoint", "without one a run begins anew"},
      {"exp_manager.checkpoint_callback_params.filename", "the name is step=N"},
      {"exp_manager.checkpoint_callback_params.monitor", kNewest},
      {"exp_manager.checkpoint_callback_params.mode", kNewest},
      {"exp_manager.checkpoint_callback_params.every_n_epochs", kNoEpochs},
      {"exp_manager.checkpoint_callback_params.save_last", "`last` is always there"},
      {"exp_manager.checkpoint_callback_params.always_save_nemo", kExport},
      {"exp_manager.checkpoint_callback_params.save_nemo_on_train_end", kExport},
  };
  return kKeys;
}

namespace {

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

std::vector<std::string> take_keys_without_effect(Config& config) {
  std::vector<std::string> notes;
  for (const auto& [path, reason] : keys_without_effect()) {
    const std::string key = path.substr(path.rfind('.') + 1);
    Config* parent = parent_of(config, path);
    const Config* found = parent == nullptr ? nullptr : parent->find(key);
    if (found == nullptr) continue;
    notes.push_back("without effect here: " + config_place(path, *found) + ": " + reason);
    parent->erase(key);
  }
  return notes;
}

std::vector<ValidationSet> validation_sets(const Config& config) {
  const Config* block = config.find_path("data.validation_ds");
  if (block == nullptr || block->is_null()) return {};
  if (!block->is_map()) throw type_error("data.validation_ds", *block, "a map of options");
  const Config* datasets = block->find("datasets");
  if (datasets == nullptr || datasets->is_null()) return {};
  const std::string path = "data.validation_ds.datasets";
  if (!datasets->is_map()) throw type_error(path, *datasets, "a map of named data sets");
  Config inherited = *block;
  inherited.erase("datasets");
  std::vector<ValidationSet> sets;
  for (const auto& [name, own] : datasets->entries()) {
    if (!own.is_map() && !own.is_null()) {
      throw type_error(path + "." + name, own, "a map of options");
    }
    Config merged = inherited;
    merged.set_origin(own.origin());
    for (const auto& [key, value] : own.entries()) merged[key] = value;
    sets.push_back({name, std::move(merged)});
  }
  return sets;
}

}  // namespace s2s

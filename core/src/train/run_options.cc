#include "train/run_options.h"

#include <array>
#include <cstdio>

#include "train/train_errors.h"

namespace s2s {

void TrainerOptions::visit(OptionVisitor& v) {
  v("accelerator", accelerator, "auto, cpu or gpu", one_of({"auto", "cpu", "gpu"}));
  v("precision", precision, "32-true, bf16-true or bf16-mixed");
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
  v("strategy", strategy, "name of the parallel strategy, and its options");
}

void CheckpointOptions::visit(OptionVisitor& v) {
  v("every_n_train_steps", every_n_train_steps, "null: at the end only", at_least(1));
  v("save_top_k", save_top_k, "newest checkpoints that are kept", at_least(1));
}

void ExpManagerOptions::visit(OptionVisitor& v) {
  v("exp_dir", exp_dir, "folder of runs; the run's own folder is exp_dir/name");
  v("explicit_log_dir", explicit_log_dir, "the run's folder itself");
  v("name", name, "the run's name");
  v("max_time_per_run", max_time_per_run, "DD:HH:MM:SS; then stop with a checkpoint");
  v("resume_from_checkpoint", resume_from_checkpoint, "checkpoint folder to begin from");
  v("resume_if_exists", resume_if_exists,
    "continue from the newest checkpoint of the run's folder");
  v("checkpoint_callback_params", checkpoint_callback_params, "when checkpoints are written");
}

std::string ExpManagerOptions::run_folder() const {
  if (explicit_log_dir) return *explicit_log_dir;
  return exp_dir.value_or("runs") + "/" + name;
}

double ExpManagerOptions::max_time_s() const {
  if (!max_time_per_run) return 0;
  std::array<int, 4> parts{};
  char rest = 0;
  const int read = std::sscanf(max_time_per_run->c_str(), "%d:%d:%d:%d%c", &parts[0], &parts[1],
                               &parts[2], &parts[3], &rest);
  if (read != 4) throw_bad_duration(*max_time_per_run);
  return ((parts[0] * 24.0 + parts[1]) * 60 + parts[2]) * 60 + parts[3];
}

const std::vector<std::string>& trainer_owned_model_keys() {
  static const std::vector<std::string> kKeys = {"type",          "tokenizer",
                                                 "optimizer",     "lr_scheduler",
                                                 "freeze_params", "prevent_freeze_params",
                                                 "scoring_asr"};
  return kKeys;
}

namespace {

/// What the trainer reads of model.optimizer; the optimizer component reads the rest.
struct ModelBlock {
  std::string type;
  std::vector<std::string> freeze_params, prevent_freeze_params;
  Config tokenizer, optimizer, lr_scheduler;
  void visit(OptionVisitor& v) {
    v("type", type, "name of the model component");
    v("freeze_params", freeze_params, "patterns of parameters that do not train");
    v("prevent_freeze_params", prevent_freeze_params, "patterns that win over freeze_params");
    v("tokenizer", tokenizer, "name of the tokenizer, and its options");
    v("optimizer", optimizer, "name of the optimizer, its options, and lr_scales");
    v("lr_scheduler", lr_scheduler, "name of the schedule, and its options");
  }
};

struct LrScales {
  std::vector<LrScale> lr_scales;
  void visit(OptionVisitor& v) {
    v("lr_scales", lr_scales, "factors on the learning rate of some parameters");
  }
};

std::vector<std::string> keys_of(const Config& node) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : node.entries()) keys.push_back(key);
  return keys;
}

Config block(const Config& config, const std::string& path) {
  const Config* found = config.find_path(path);
  return found != nullptr && !found->is_null() ? *found : Config::map();
}

ModelOptions read_model(const Config& config, Findings& findings) {
  const Config node = block(config, "model");
  ModelBlock read;
  OptionReader(node, "model", findings, keys_of(node)).read(read);
  const Config optimizer = block(config, "model.optimizer");
  LrScales scales;
  OptionReader(optimizer, "model.optimizer", findings, keys_of(optimizer)).read(scales);
  return {read.type, read.freeze_params, read.prevent_freeze_params, scales.lr_scales};
}

std::map<std::string, Config> read_validation_sets(const Config& config) {
  std::map<std::string, Config> sets;
  Config inherited = block(config, "data.validation_ds");
  const Config datasets = block(config, "data.validation_ds.datasets");
  inherited.erase("datasets");
  for (const auto& [name, own] : datasets.entries()) {
    Config merged = inherited;
    for (const auto& [key, value] : own.entries()) merged[key] = value;
    // A validation ends; sources repeat unless they are told not to.
    if (merged.find("repeat") == nullptr) merged["repeat"] = Config::scalar("false");
    sets[name] = std::move(merged);
  }
  return sets;
}

}  // namespace

RunOptions read_run_options(const Config& config) {
  RunOptions options;
  Findings findings;
  OptionReader(block(config, "trainer"), "trainer", findings).read(options.trainer);
  OptionReader(block(config, "exp_manager"), "exp_manager", findings).read(options.exp_manager);
  options.model = read_model(config, findings);
  options.validation_sets = read_validation_sets(config);
  findings.throw_if_any();
  return options;
}

}  // namespace s2s

// The blocks `distributed` and `training` of LLM fine-tuning recipes: they name a DeepSpeed or FSDP
// file and contain transformers' TrainingArguments.

#include "translate/recipe_blocks.h"

#include <fmt/format.h>

#include <array>

#include "base/number_text.h"
#include "base/text.h"
#include "config/config_errors.h"
#include "deepspeed/deepspeed_values.h"
#include "keys/foreign_file.h"
#include "keys/key_reasons.h"

namespace s2s::interop {
namespace {

using enum KeyUse;

constexpr auto kDistributed = std::to_array<ForeignKey>({
    {"use_deepspeed", kRead, "true: `trainer.strategy: {name: deepspeed, config: ...}`",
     read_later},
    {"deepspeed_config", kRead, "the file of that strategy", read_later},
    {"use_fsdp", kRead, "true: `trainer.strategy: {name: fsdp, config: ...}`; neither: `name: ddp`",
     read_later},
    {"fsdp_config", kRead, "the file of that strategy", read_later},
    {"gradient_accumulation_steps", kRead, "trainer.accumulate_grad_batches"},
    {"zero_stage", kRead,
     "`trainer.strategy.zero_stage`, with use_deepspeed and no file; 2 without", read_later},
    {"offload_parameters", kRead, "true: `trainer.strategy.offload: params`",
     [](ForeignFile& file, const Config& value) {
       if (is_switched_on(value)) file.set("trainer.strategy.offload", "params", value);
     }},
    {"fsdp_sharding_strategy", kRead, "as in FSDP's file, without such a file", read_later},
    {"fsdp_state_dict_type", kRead, "as in FSDP's file, without such a file", read_later},
    {"fsdp_offload_params", kRead, "as in FSDP's file, without such a file", read_later},
    {"num_gpus_per_node", kRead, "trainer.devices"},
    {"num_nodes", kRead, "trainer.num_nodes"},
    {"master_addr", kNoEffect, why::kLauncher},
    {"master_port", kNoEffect, why::kLauncher},
    {"node_rank", kNoEffect, why::kLauncher},
    {"num_checkpoints", kNoEffect, "blocks are recomputed one by one"},
    {"num_train_samples", kNoEffect, "trainer.max_steps is the length of a run"},
});

void read_gradient_checkpointing(ForeignFile& file, const Config& value) {
  if (!is_switched_on(value)) return;
  Config& strategy = file.config["trainer"]["strategy"];
  if (strategy.is_scalar() && !strategy.is_null()) {
    const Config name = strategy;
    strategy = Config::map();
    strategy.set_origin(name.origin());
    strategy["name"] = name;
  }
  const Config* const name = strategy.find("name");
  if (name == nullptr && strategy.find("_target_") == nullptr) {
    file.set("trainer.strategy.name", "ddp", value);
  } else if (name != nullptr && name->text() == "single") {
    return file.refuse("gradient_checkpointing", value,
                       "trainer.strategy.name is single, which has no such option; write ddp");
  }
  file.set_default("trainer.strategy.activation_checkpointing", "full", value);
}

void read_mixed_precision(ForeignFile& file, const Config& value) {
  const std::string type = lower(value.text());
  const char* const ours = type == "no"     ? "32-true"
                           : type == "bf16" ? "bf16-mixed"
                           : type == "fp16" ? "16-mixed"
                                            : nullptr;
  if (ours != nullptr) return file.set_precision(ours, value);
  file.findings.add(choice_error(file.path_of("mixed_precision"), value, {"no", "fp16", "bf16"}));
}

/// training.warmup_steps, which takes precedence over warmup_ratio; 0 if absent.
int64_t warmup_steps(const ForeignFile& file) {
  const Config* const steps = file.find("warmup_steps");
  return steps == nullptr ? 0 : whole_number(*steps).value_or(0);
}

/// The warm-up is a part of the schedule.
void read_schedule_type(ForeignFile& file, const Config& value) {
  const std::string type = value.text();
  if (type == "constant") return;  // no schedule
  static const std::vector<std::string> kTypes = {"constant", "constant_with_warmup", "cosine",
                                                  "linear"};
  if (!contains(kTypes, type)) {
    return file.findings.add(choice_error(file.path_of("lr_scheduler_type"), value, kTypes));
  }
  const Config* const ratio = file.find("warmup_ratio");
  const Config* const steps = file.config.find_path("trainer.max_steps");
  const int64_t warmup = warmup_steps(file);
  if (type == "cosine") {
    file.set("model.lr_scheduler.name", "cosine_annealing", value);
    if (warmup > 0) {
      file.set("model.lr_scheduler.warmup_steps", std::to_string(warmup), value);
    } else if (ratio != nullptr) {
      file.set("model.lr_scheduler.warmup_ratio", *ratio, *ratio);
    }
    if (steps != nullptr) file.set("model.lr_scheduler.max_steps", *steps, value);
    return;
  }
  const bool falls = type == "linear";
  file.set("model.lr_scheduler.name", falls ? "warmup_decay_lr" : "warmup_lr", value);
  file.set("model.lr_scheduler.warmup_type", "linear", value);
  if (steps == nullptr) return;  // the missing total_num_steps is reported
  if (falls) file.set("model.lr_scheduler.total_num_steps", *steps, value);
  const double share = ratio == nullptr ? 0 : read_number<double>(ratio->text()).value_or(0);
  const double all = read_number<double>(steps->text()).value_or(0);
  const auto part = std::max<int64_t>(1, static_cast<int64_t>(share * all));
  const int64_t count = warmup > 0 ? warmup : part;
  file.set("model.lr_scheduler.warmup_num_steps", std::to_string(count), value);
}

void read_optimizer_name(ForeignFile& file, const Config& value) {
  static const std::vector<std::string> kAdamW = {"adamw", "adamw_torch", "adamw_torch_fused",
                                                  "adamw_hf"};
  if (contains(kAdamW, value.text())) return file.set("model.optimizer.name", "adamw", value);
  if (value.text() == "adafactor") {  // as transformers' trainer makes it
    file.set("model.optimizer.relative_step", "false", value);
    file.set("model.optimizer.scale_parameter", "false", value);
  }
  static const std::vector<std::string> kSameName = {"sgd", "lion", "muon", "adafactor"};
  if (contains(kSameName, value.text())) {
    return file.set("model.optimizer.name", value.text(), value);
  }
  file.refuse("optimizer", value,
              "expected adamw_torch, sgd, lion, muon, adafactor, or an optimizer of s2s-run plugin "
              "list --kind optimizer in "
              "model.optimizer");
}

void read_epochs(ForeignFile& file, const Config& value) {
  const char* key = "epochs";
  for (const char* const other : {"num_epochs", "num_train_epochs"}) {
    if (file.find(other) == &value) key = other;
  }
  const bool has_steps =
      file.config.find_path("trainer.max_steps") != nullptr || file.find("max_steps") != nullptr;
  if (has_steps) return file.no_effect(key, value, "trainer.max_steps is the length of a run");
  file.refuse(key, value,
              "the length of a run is given in steps, not epochs: write trainer.max_steps");
}

constexpr auto kTraining = std::to_array<ForeignKey>({
    {"gradient_checkpointing", kRead,
     "true: `trainer.strategy.activation_checkpointing: full`; without a strategy `name: ddp`",
     read_gradient_checkpointing},
    {"mixed_precision", kRead, "`trainer.precision`: no, fp16, bf16", read_mixed_precision},
    {"micro_batch_size", kRead, "data.train_ds.batch_size"},
    {"gradient_accumulation_steps", kRead, "trainer.accumulate_grad_batches"},
    {"max_grad_norm", kRead, "`trainer.gradient_clip_val`; 0: no clipping", read_clipping},
    {"report_to", kRead, "`exp_manager.loggers`: tensorboard, wandb, mlflow, all, none",
     read_later},
    {"learning_rate", kRead, "model.optimizer.lr"},
    {"weight_decay", kRead, "model.optimizer.weight_decay"},
    {"optimizer", kRead,
     "`model.optimizer.name`: adamw_torch, adamw_hf `adamw`; sgd, lion, muon; adafactor, with "
     "`relative_step: false` and `scale_parameter: false`",
     read_optimizer_name},
    {"lr_scheduler_type", kRead,
     "constant: no `model.lr_scheduler`; cosine: `model.lr_scheduler.name: cosine_annealing`; "
     "linear: `warmup_decay_lr`; constant_with_warmup: `warmup_lr`",
     read_schedule_type},
    {"warmup_ratio", kRead, "the warm-up of that schedule, as a part of `trainer.max_steps`",
     read_later},
    {"warmup_steps", kRead, "the warm-up of that schedule; counts before warmup_ratio", read_later},
    {"max_steps", kRead, "trainer.max_steps"},
    {"seed", kRead, "trainer.seed"},
    {"max_seq_length", kRead, "data.train_ds.max_seq_len"},
    {"epochs", kRead, "refused without `trainer.max_steps`; otherwise no effect", read_epochs},
    {"num_epochs", kRead, "as `epochs`", read_epochs},
    {"num_train_epochs", kRead, "as `epochs`", read_epochs},
    {"per_device_train_batch_size", kRead, "data.train_ds.batch_size"},
    {"logging_steps", kRead, "trainer.log_every_n_steps"},
    {"save_steps", kRead, "exp_manager.checkpoint_callback_params.every_n_train_steps"},
    {"eval_steps", kRead, "trainer.val_check_interval"},
    {"output_dir", kRead, "exp_manager.explicit_log_dir"},
    {"optim", kRead, "as `optimizer`", read_optimizer_name},
    {"bf16", kRead, "true: `trainer.precision: bf16-mixed`",
     [](ForeignFile& file, const Config& value) {
       if (is_switched_on(value)) file.set_precision("bf16-mixed", value);
     }},
    {"fp16", kRead, "true: `trainer.precision: 16-mixed`",
     [](ForeignFile& file, const Config& value) {
       if (is_switched_on(value)) file.set_precision("16-mixed", value);
     }},
    {"gradient_based_pruning", kOnlyOff, "pruning is not implemented; remove it"},
});

class Blocks {
 public:
  Blocks(Config& config, Findings& findings, ConfigNotes& notes)
      : config_(config), findings_(findings), notes_(notes) {}

  void read_training() {
    const Config* const found = config_.find("training");
    if (found == nullptr || !found->is_map()) return;
    const Config block = *found;
    ForeignFile file(config_, block, "training", findings_, notes_);
    file.read(kTraining);
    file.add_notes();
    config_.erase("training");
    for (const char* const key : {"report_to", "warmup_ratio", "warmup_steps"}) {  // read later
      if (const Config* const value = block.find(key)) config_["training"][key] = *value;
    }
  }

  void read_distributed() {
    const Config* const found = config_.find("distributed");
    if (found == nullptr || !found->is_map()) return;
    const Config block = *found;
    ForeignFile file(config_, block, "distributed", findings_, notes_);
    const bool is_deepspeed = file.is_true("use_deepspeed"), is_fsdp = file.is_true("use_fsdp");
    if (is_deepspeed && is_fsdp) {
      file.refuse("use_fsdp", *file.find("use_fsdp"), "use_deepspeed is true, too; expected one");
    } else if (has_strategy() && (is_deepspeed || is_fsdp)) {
      const char* const key = is_deepspeed ? "use_deepspeed" : "use_fsdp";
      file.refuse(key, *file.find(key), "trainer.strategy is written, too; remove one of them");
    } else if (!has_strategy()) {
      config_["trainer"]["strategy"] = strategy_of(file, is_deepspeed, is_fsdp);
      config_["trainer"]["strategy"].set_origin(block.origin());
    }
    file.read(kDistributed);
    file.add_notes();
    config_.erase("distributed");
  }

 private:
  bool has_strategy() const {
    const Config* const strategy = config_.find_path("trainer.strategy");
    return strategy != nullptr && !strategy->is_null();
  }

  static Config strategy_of(const ForeignFile& file, bool is_deepspeed, bool is_fsdp) {
    Config strategy = Config::map();
    const auto name = [&](const char* text, const char* key) {
      strategy["name"] = Config::scalar(text);
      const Config* const from = file.find(key);
      if (from != nullptr) strategy["name"].set_origin(from->origin());
    };
    name(is_deepspeed ? "deepspeed"
         : is_fsdp    ? "fsdp"
                      : "ddp",
         is_deepspeed ? "use_deepspeed" : "use_fsdp");
    const Config* const path = is_deepspeed ? file.find("deepspeed_config")
                               : is_fsdp    ? file.find("fsdp_config")
                                            : nullptr;
    if (path != nullptr && !path->is_null()) {
      strategy["config"] = *path;
    } else if (is_deepspeed) {
      const Config* const stage = file.find("zero_stage");
      name("fsdp", "use_deepspeed");
      strategy["zero_stage"] = stage != nullptr ? *stage : Config::scalar("2");
    } else if (is_fsdp) {
      Config inner = Config::map();
      for (const char* const key :
           {"fsdp_sharding_strategy", "fsdp_state_dict_type", "fsdp_offload_params"}) {
        if (const Config* const value = file.find(key)) inner[key] = *value;
      }
      strategy["config"] = inner;
    }
    return strategy;
  }

  Config& config_;
  Findings& findings_;
  ConfigNotes& notes_;
};

}  // namespace

ForeignKeys distributed_keys() { return kDistributed; }
ForeignKeys training_keys() { return kTraining; }

void translate_recipe_blocks(Config& config, Findings& findings, ConfigNotes& notes) {
  Blocks blocks(config, findings, notes);
  blocks.read_distributed();
  blocks.read_training();
}

}  // namespace s2s::interop

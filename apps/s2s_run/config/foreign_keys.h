#pragma once
// Names that Lightning, NeMo, PyTorch, DeepSpeed and accelerate use for the options of s2s.
// core/docs/guides/scaling.md has the same table.

#include <string>
#include <vector>

#include "config/config_notes.h"
#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s::run {

/// The option of s2s for an option of another framework; `value` empty: the value is kept.
struct OurOption {
  std::string key, value;
};

/// The option of `trainer.strategy` that is equivalent to `key: value` of another framework's
/// strategy; an empty key when there is none.
OurOption our_strategy_option(const std::string& key, const Config& value);

/// Why an option of another framework's strategy has no effect here; "" when it is not in the list.
std::string why_without_effect(const std::string& key, const Config& value);

/// The block `{name: ...}` for a strategy's name or class in another framework ("ddp_spawn",
/// "deepspeed_stage_3", "lightning.pytorch.strategies.FSDPStrategy"); null when it is unknown.
Config our_strategy(const std::string& name);

/// The block to write for an incomplete name ("hsdp": the number of replicas is missing); "" for
/// other names.
std::string complete_strategy(const std::string& name);

/// What to write instead of `key`, which is unknown at `path` ("trainer.strategy", "trainer", ""
/// for the top level); "" when it is not in the tables.
std::string instead_of(const std::string& path, const std::string& key, const Config& value);

/// Rewrites `trainer.strategy` when it is a string, names a class (`_target_`) or another
/// framework's strategy, and removes options without effect. Adds a note for each change.
/// Errors: [config/strategy], added to `findings`.
void translate_strategy(Config& config, Findings& findings, ConfigNotes& notes);

/// Sets `model.llm.name` when only a path is given: the longest of `families` that is a prefix of
/// the model_type in config.json. Throws [weights/config] when no family reads that model_type.
void name_language_model(Config& config, const std::vector<std::string>& families,
                         Findings& findings, ConfigNotes& notes);

/// Reads the `model` block of NeMo speechlm2: names its type by its keys, and turns pretrained_llm,
/// pretrained_asr and perception into parts where they are files of this machine. What is not
/// stays, and is reported as an unknown key. Errors: [model/translate], [weights/format], added to
/// `findings`.
void translate_nemo_model(Config& config, Findings& findings, ConfigNotes& notes);

/// Names `model.optimizer` and `model.lr_scheduler` when they name a class, a scorer that is only a
/// name, and a connector of NeMo. Removes switches of NeMo's data sets that are off.
void translate_parts(Config& config, Findings& findings, ConfigNotes& notes);
/// Gives `model.lora` without `r` the rank of the adapter that its `path` names, with lora_alpha
/// and target_modules where they are missing, or PEFT's default.
void complete_lora(Config& config, Findings& findings, ConfigNotes& notes);

/// Turns parts of an epoch, as Lightning writes them, into optimizer steps and batches:
/// trainer.val_check_interval: 0.5, limit_val_batches: 1.0, limit_train_batches: 1.0.
/// Errors: [config/type], added to `findings`.
void translate_epochs(Config& config, Findings& findings, ConfigNotes& notes);

/// Turns NeMo's switches of exp_manager (create_wandb_logger and its kwargs) and Hugging Face's
/// `report_to`, at the top, in `trainer` or in `training`, into `exp_manager.loggers`. Errors:
/// [config/loggers], added to `findings`.
void translate_loggers(Config& config, Findings& findings, ConfigNotes& notes);

/// Turns NeMo's callback NsightProfiling (trainer.callbacks) into `trainer.profile`. Other
/// callbacks stay. Errors: [config/unknown-key] and [config/missing] for its options, added to
/// `findings`.
void translate_profile(Config& config, Findings& findings, ConfigNotes& notes);

/// Sets the name of data sources that have none. NeMo has only one data source.
void name_data_sources(Config& config, ConfigNotes& notes);

}  // namespace s2s::run

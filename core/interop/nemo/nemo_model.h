#pragma once
// Reads the `model` block of NeMo speechlm2 and the blocks that its classes share.

#include <string>
#include <vector>

#include "config/config_notes.h"
#include "s2s/foreign_class.h"

namespace s2s::interop {

/// Finds the block's type by its keys, and turns pretrained_llm, pretrained_asr and perception into
/// parts if they are local files. Others stay, and are reported as unknown keys. Then the model
/// reads the keys of its class. Errors: [model/translate], [weights/format], added to the findings;
/// [config/nemo-class]. Without a type, loads all models to find it.
void translate_nemo_model(ConfigTranslation& translation);

/// Gives `model.optimizer` and `model.lr_scheduler` names instead of classes, and translates a
/// scorer that is only a name and a connector of NeMo. Removes NeMo's data switches that are off.
void translate_parts(Config& config, Findings& findings, ConfigNotes& notes);

/// Translates NeMo's switches of exp_manager (create_wandb_logger and its kwargs) and Hugging
/// Face's `report_to` (at the top, in `trainer` or in `training`) to `exp_manager.loggers`. Errors:
/// [config/loggers], added to the findings.
void translate_loggers(Config& config, Findings& findings, ConfigNotes& notes);

/// Translates NeMo's callback NsightProfiling (trainer.callbacks) to `trainer.profile`. Other
/// callbacks stay. Errors: [config/unknown-key] and [config/missing] for its options, added to the
/// findings.
void translate_profile(Config& config, Findings& findings, ConfigNotes& notes);

/// Sets the missing names of data sources. NeMo has only one data source.
void name_data_sources(Config& config, ConfigNotes& notes);

}  // namespace s2s::interop

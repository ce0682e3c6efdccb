#pragma once
// Reads the `model` block of NeMo speechlm2 and what its classes share.

#include <string>
#include <vector>

#include "config/config_notes.h"
#include "s2s/foreign_class.h"

namespace s2s::interop {

/// Names the block's type by its keys, and turns pretrained_llm, pretrained_asr and perception into
/// parts where they are files of this machine. What is not stays, and is reported as an unknown
/// key. Then the model reads what is of its class alone. Errors: [model/translate],
/// [weights/format], added to the findings; [config/nemo-class]. Models are loaded to
/// ask them when the block has no type.
void translate_nemo_model(ConfigTranslation& translation);

/// Names `model.optimizer` and `model.lr_scheduler` when they name a class, a scorer that is only a
/// name, and a connector of NeMo. Removes switches of NeMo's data sets that are off.
void translate_parts(Config& config, Findings& findings, ConfigNotes& notes);

/// Turns NeMo's switches of exp_manager (create_wandb_logger and its kwargs) and Hugging Face's
/// `report_to`, at the top, in `trainer` or in `training`, into `exp_manager.loggers`. Errors:
/// [config/loggers], added to the findings.
void translate_loggers(Config& config, Findings& findings, ConfigNotes& notes);

/// Turns NeMo's callback NsightProfiling (trainer.callbacks) into `trainer.profile`. Other
/// callbacks stay. Errors: [config/unknown-key] and [config/missing] for its options, added to
/// the findings.
void translate_profile(Config& config, Findings& findings, ConfigNotes& notes);

/// Sets the name of data sources that have none. NeMo has only one data source.
void name_data_sources(Config& config, ConfigNotes& notes);

}  // namespace s2s::interop

#pragma once
// The blocks and files that configure engines.

#include "config/config_notes.h"
#include "s2s/config.h"
#include "s2s/error.h"
#include "s2s/foreign_keys.h"

namespace s2s::interop {

/// Reads `trainer.strategy.config` of DeepSpeed, FSDP or accelerate: a file or a map. Translates
/// its values to our keys, and sets the strategy's name. Errors, added to `findings`: see
/// ForeignFile, those of reading the file, [config/global-batch].
void translate_strategy_file(Config& config, Findings& findings, ConfigNotes& notes);

/// Does the same for the blocks `distributed` and `training`, and removes them, except
/// training.report_to. Call it before translate_strategy_file.
void translate_recipe_blocks(Config& config, Findings& findings, ConfigNotes& notes);

ForeignKeys distributed_keys();
ForeignKeys training_keys();

}  // namespace s2s::interop

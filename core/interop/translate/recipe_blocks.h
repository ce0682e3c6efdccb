#pragma once
// The blocks and the files in which engines are configured.

#include "config/config_notes.h"
#include "s2s/config.h"
#include "s2s/error.h"
#include "s2s/foreign_keys.h"

namespace s2s::interop {

/// Reads `trainer.strategy.config` of DeepSpeed, FSDP or accelerate: a file, or a map. What it says
/// goes to our keys, and the strategy gets our name. Errors, added to `findings`: see ForeignFile,
/// those of reading the file, [config/global-batch].
void translate_strategy_file(Config& config, Findings& findings, ConfigNotes& notes);

/// The same for the blocks `distributed` and `training` of the configuration, which it removes
/// (training.report_to stays for the loggers). To be called before translate_strategy_file.
void translate_recipe_blocks(Config& config, Findings& findings, ConfigNotes& notes);

ForeignKeys distributed_keys();
ForeignKeys training_keys();

}  // namespace s2s::interop

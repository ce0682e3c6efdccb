#pragma once
// Reads keys of Lightning's Trainer.

#include "config/config_notes.h"
#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s::interop {

/// Rewrites a `trainer.strategy` that is a string, a class (`_target_`) or another framework's
/// name, and removes options without effect. Adds a note for each change. Errors:
/// [config/strategy], added to `findings`.
void translate_strategy(Config& config, Findings& findings, ConfigNotes& notes);

/// Converts Lightning's fractions of an epoch to optimizer steps and batches:
/// trainer.val_check_interval: 0.5, limit_val_batches: 1.0, limit_train_batches: 1.0. Errors:
/// [config/type], added to `findings`.
void translate_epochs(Config& config, Findings& findings, ConfigNotes& notes);

}  // namespace s2s::interop

#pragma once
// The words --checkpoint FOLDER of a command.

#include <string>

#include "checkpoint/checkpoint.h"
#include "run/run_config.h"

namespace s2s::run {

constexpr const char* kCheckpointDoc = "checkpoint folder, or a run's folder: its last one";

/// `validate runs/my` is `validate --checkpoint runs/my`: a folder is no configuration. Errors:
/// [usage/arguments] without a checkpoint.
void take_checkpoint(ConfigArguments& arguments, std::string& checkpoint,
                     const std::string& command);

/// Where no configuration was written, that of the checkpoint: `arguments.path` is empty, or the
/// first of the overrides. The run's folder is then the one that the checkpoint lies in. Errors:
/// [checkpoint/missing].
void complete_config(ConfigArguments& arguments, const std::string& checkpoint);

}  // namespace s2s::run

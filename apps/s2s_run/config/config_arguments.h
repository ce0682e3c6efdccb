#pragma once
// The words CONFIG [key=value ...] [--checkpoint FOLDER] of a command.

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "run/run_config.h"
#include "s2s_run/command_line.h"

namespace s2s::run {

constexpr const char* kCheckpointDoc =
    "checkpoint folder, or run folder (uses its last checkpoint)";

void add_config_arguments(
    const Command& command, ConfigArguments& arguments,
    const char* overrides_doc = "overrides: key.path=value with a YAML value; ~key removes a key");
/// CONFIG may be left out where there is --checkpoint: see complete_config.
void add_checkpoint_arguments(const Command& command, ConfigArguments& arguments,
                              std::string& checkpoint);

/// `validate runs/my` is `validate --checkpoint runs/my`: a folder is no configuration. Errors:
/// [usage/arguments] without a checkpoint.
void take_checkpoint(ConfigArguments& arguments, std::string& checkpoint,
                     const std::string& command);

/// Where no configuration was written, that of the checkpoint: `arguments.path` is empty, or the
/// first of the overrides. The run's folder is then the one that the checkpoint lies in. Errors:
/// [checkpoint/missing].
void complete_config(ConfigArguments& arguments, const std::string& checkpoint);

/// Where plugins are searched; for a run of the config file, unless that is "", with its `plugins`
/// block, unless the file is a checkpoint's (checkpoint_config.h), which is said on standard error.
/// Errors: those of reading the file and the block.
SearchInputs config_search_inputs(const Invocation& invocation, const std::string& config_path);

}  // namespace s2s::run

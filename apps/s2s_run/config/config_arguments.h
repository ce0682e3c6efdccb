#pragma once
// The arguments CONFIG [key=value ...] [--checkpoint FOLDER] of a command.

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
/// The same with an optional CONFIG and --checkpoint: see complete_config.
void add_checkpoint_arguments(const Command& command, ConfigArguments& arguments,
                              std::string& checkpoint);

/// Makes `validate runs/my` equal to `validate --checkpoint runs/my`: a folder is not a
/// configuration. Errors: [usage/arguments] without a checkpoint.
void take_checkpoint(ConfigArguments& arguments, std::string& checkpoint,
                     const std::string& command);

/// Uses the checkpoint's configuration if none was given: if `arguments.path` is empty or is an
/// override. Then the run folder is the one that contains the checkpoint. Errors:
/// [checkpoint/missing].
void complete_config(ConfigArguments& arguments, const std::string& checkpoint);

/// The folders in which plugins are searched. With a config file, also those of its `plugins`
/// block; if the file belongs to a checkpoint (checkpoint_config.h), the block is ignored with a
/// note on standard error.
/// Errors: those of reading the file and the block.
SearchInputs config_search_inputs(const Invocation& invocation, const std::string& config_path);

}  // namespace s2s::run

#pragma once
// The words CONFIG [key=value ...] of a command.

#include <string>
#include <vector>

#include "plugin/search_path.h"
#include "run/run_config.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

void add_config_arguments(CLI::App& command, ConfigArguments& arguments);
/// CONFIG may be left out, for a command with --checkpoint: see complete_config.
void add_config_arguments_of_checkpoint(CLI::App& command, ConfigArguments& arguments);

/// Where plugins are searched for a run of the config file: its `plugins` block included, unless
/// the file is a checkpoint's (checkpoint_config.h), which is said on standard error.
/// Errors: those of reading the file and the block.
SearchInputs config_search_inputs(const std::vector<std::string>& plugin_paths,
                                  const std::string& config_path);

}  // namespace s2s::run

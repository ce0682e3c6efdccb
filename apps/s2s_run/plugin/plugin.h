#pragma once
// The subcommands of `s2s-run plugin`, one file each.

#include <string>

#include "plugin/search_path.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

/// Where a `plugin` command searches; `config`: its --config, "" for none.
using SearchReader = SearchInputs (*)(const Invocation& invocation, const std::string& config);
/// Adds --config FILE to a command.
void add_config_option(CLI::App& command, std::string& config);

void setup_plugin(CLI::App& app, Invocation& invocation);
/// `plugin` with `list` and `path` alone: these need neither LibTorch nor the rest of core, but for
/// a --config, which `reader` reads.
void setup_plugin_notes(CLI::App& app, Invocation& invocation, SearchReader reader);
void setup_plugin_list(CLI::App& plugin, Invocation& invocation, SearchReader reader);
void setup_plugin_inspect(CLI::App& plugin, Invocation& invocation, SearchReader reader);
void setup_plugin_path(CLI::App& plugin, Invocation& invocation, SearchReader reader);
void setup_plugin_check(CLI::App& plugin, Invocation& invocation);
void setup_plugin_new(CLI::App& plugin, Invocation& invocation);

}  // namespace s2s::run

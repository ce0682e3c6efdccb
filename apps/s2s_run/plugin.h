#pragma once
// The subcommands of `s2s-run plugin`, one file each.

#include "s2s_run/subcommands.h"

namespace s2s::run {

void setup_plugin(CLI::App& app, Invocation& invocation);
/// `plugin` with `list` and `path` alone: these need neither LibTorch nor the rest of core.
void setup_plugin_notes(CLI::App& app, Invocation& invocation);
void setup_plugin_list(CLI::App& plugin, Invocation& invocation);
void setup_plugin_inspect(CLI::App& plugin, Invocation& invocation);
void setup_plugin_path(CLI::App& plugin, Invocation& invocation);
void setup_plugin_check(CLI::App& plugin, Invocation& invocation);

}  // namespace s2s::run

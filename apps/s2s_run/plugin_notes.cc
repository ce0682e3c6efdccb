// The subcommands of `s2s-run plugin` that only read notes.

#include <CLI/CLI.hpp>

#include "s2s_run/plugin.h"

namespace s2s::run {

void setup_plugin_notes(CLI::App& app, Invocation& invocation) {
  CLI::App& plugin = command_group(app, "plugin", "find, describe and check plugins");
  setup_plugin_list(plugin, invocation);
  setup_plugin_path(plugin, invocation);
}

}  // namespace s2s::run

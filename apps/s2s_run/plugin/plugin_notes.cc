// The subcommands of `s2s-run plugin` that only read notes.

#include <CLI/CLI.hpp>

#include "s2s_run/plugin/plugin.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

void add_config_option(CLI::App& command, std::string& config) {
  command.add_option("--config", config, "search the folders of this config's plugins block, too");
}

void setup_plugin_notes(CLI::App& app, Invocation& invocation, SearchReader reader) {
  CLI::App& plugin = command_group(app, "plugin", "find, describe and check plugins");
  setup_plugin_list(plugin, invocation, reader);
  setup_plugin_path(plugin, invocation, reader);
}

}  // namespace s2s::run

// s2s-run plugin: list, inspect, path, check.

#include "s2s_run/plugin.h"

#include <CLI/CLI.hpp>

namespace s2s::run {

void setup_plugin(CLI::App& app, Invocation& invocation) {
  CLI::App* const plugin = app.add_subcommand("plugin", "find, describe and check plugins");
  plugin->require_subcommand(1);
  setup_plugin_list(*plugin, invocation);
  setup_plugin_inspect(*plugin, invocation);
  setup_plugin_path(*plugin, invocation);
  setup_plugin_check(*plugin, invocation);
}

}  // namespace s2s::run

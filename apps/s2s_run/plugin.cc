// s2s-run plugin: list, inspect, path, check.

#include "s2s_run/plugin.h"

#include <CLI/CLI.hpp>

namespace s2s::run {

void setup_plugin(CLI::App& app, Invocation& invocation) {
  setup_plugin_notes(app, invocation);
  CLI::App& plugin = *app.get_subcommand("plugin");
  setup_plugin_inspect(plugin, invocation);
  setup_plugin_check(plugin, invocation);
}

}  // namespace s2s::run

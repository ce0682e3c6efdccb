// s2s-run plugin: list, inspect, path, check, new.

#include "s2s_run/plugin/plugin.h"

#include <CLI/CLI.hpp>

#include "run/run_config.h"
#include "s2s_run/config/config_arguments.h"

namespace s2s::run {

namespace {

SearchInputs search_with_config(const Invocation& invocation, const std::string& config) {
  return config.empty() ? process_search_inputs(invocation.plugin_paths)
                        : config_search_inputs(invocation.plugin_paths, config);
}

}  // namespace

void setup_plugin(CLI::App& app, Invocation& invocation) {
  setup_plugin_notes(app, invocation, search_with_config);
  CLI::App& plugin = *app.get_subcommand("plugin");
  setup_plugin_inspect(plugin, invocation, search_with_config);
  setup_plugin_check(plugin, invocation);
  setup_plugin_new(plugin, invocation);
}

}  // namespace s2s::run

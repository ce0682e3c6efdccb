// The subcommands of `s2s-run plugin` that only read notes. They need LibTorch and the rest of core
// only with --config.

#include "s2s_run/subcommands.h"

namespace s2s::run {

void add_config_option(const Command& command, std::string& config) {
  command.option("--config", config,
                 "also search the folders in the plugins block of this configuration");
}

Command setup_plugin_notes(const Command& program) {
  const Command group = program.group("plugin", "list, inspect, check and create plugins");
  setup_plugin_list(group);
  setup_plugin_path(group);
  return group;
}

}  // namespace s2s::run

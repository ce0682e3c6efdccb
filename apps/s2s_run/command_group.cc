#include <CLI/CLI.hpp>

#include "s2s_run/subcommands.h"

namespace s2s::run {

CLI::App& command_group(CLI::App& app, const std::string& name, const std::string& description) {
  const auto named = [&](const CLI::App* command) { return command->get_name() == name; };
  for (CLI::App* there : app.get_subcommands(named)) return *there;
  CLI::App* group = app.add_subcommand(name, description);
  group->require_subcommand(1);
  return *group;
}

}  // namespace s2s::run

#include "s2s_run/subcommands.h"

#include <CLI/CLI.hpp>

#include "s2s_run/data_synth.h"

namespace s2s::run {

CLI::App& command_group(CLI::App& app, const std::string& name, const std::string& description) {
  const auto named = [&](const CLI::App* command) { return command->get_name() == name; };
  for (CLI::App* there : app.get_subcommands(named)) return *there;
  CLI::App* group = app.add_subcommand(name, description);
  group->require_subcommand(1);
  return *group;
}

// Each of these lives in a file of its own name.

void setup_subcommands([[maybe_unused]] CLI::App& app, [[maybe_unused]] Invocation& invocation) {
  setup_data_synth(app, invocation);
}

}  // namespace s2s::run

#pragma once
// The subcommands of s2s-run, one file each. `setup_*` adds a subcommand to the command line and
// sets the callback that runs it; a callback reports its exit code through `Invocation`.

#include <functional>
#include <string>

#include "run/run_program.h"

namespace CLI {
class App;
}

namespace s2s::run {

/// What every subcommand shares; `plugin_paths` are --plugin-path, repeatable.
struct Invocation : RunProgram {
  bool json = false;              // --json: machine-readable tables
  std::function<int()> selected;  // set by the subcommand that was chosen
};

/// The subcommand `name` that only groups others ("data" of "data synth"); made when missing.
CLI::App& command_group(CLI::App& app, const std::string& name, const std::string& description);

/// Adds every subcommand; subcommands.cc lists them.
void setup_subcommands(CLI::App& app, Invocation& invocation);

}  // namespace s2s::run

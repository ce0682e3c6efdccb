#pragma once
// The option `--allow-commands` of the data commands.

#include <CLI/CLI.hpp>

#include "files/command_rules.h"

namespace s2s::run {

inline void add_allow_commands(CLI::App& command) {
  command.add_flag_callback(
      "--allow-commands", [] { allow_data_commands(); },
      "run the shell commands that stand in the data (pipe:, type command)");
}

}  // namespace s2s::run

#pragma once
// Parses a command line, runs the subcommand, and converts an error to one message and an exit code
// (s2s/error.h).

#include <string>

#include "s2s_run/command_line.h"

namespace s2s::run {

/// What is done with the text of an error before it is shown; null: nothing.
using MessageFilter = std::string (*)(std::string);

/// `setup` adds the subcommands. Returns the exit code.
int run_program(int argc, char** argv, void (*setup)(const Command&),
                MessageFilter filter = nullptr);

}  // namespace s2s::run

#pragma once
// Parses a command line, runs the subcommand, and converts an error to one message and an exit code
// (s2s/error.h).

#include "s2s_run/command_line.h"

namespace s2s::run {

/// `setup` adds the subcommands. Returns the exit code.
int run_program(int argc, char** argv, void (*setup)(const Command&));

}  // namespace s2s::run

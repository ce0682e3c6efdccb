#pragma once
// Parses a command line, runs the subcommand it names, and turns an error into one message and an
// exit code (s2s/error.h).

#include "s2s_run/command_line.h"

namespace s2s::run {

/// `setup` adds the subcommands. Returns the exit code.
int run_program(int argc, char** argv, void (*setup)(const Command&));

}  // namespace s2s::run

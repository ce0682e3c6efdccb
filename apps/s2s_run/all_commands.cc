// The whole program, as a library that the launcher opens.

#include "s2s_run/program.h"

extern "C" __attribute__((visibility("default"))) int s2s_run_all_commands(int argc, char** argv) {
  return s2s::run::run_program(argc, argv, s2s::run::setup_subcommands);
}

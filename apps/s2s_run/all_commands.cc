// The entry point of the library with all commands, which the launcher opens.

#include "base/threads.h"
#include "config/url_secrets.h"
#include "s2s_run/program.h"
#include "s2s_run/subcommands.h"

extern "C" __attribute__((visibility("default"))) int s2s_run_all_commands(int argc, char** argv) {
  const int exit_code =
      s2s::run::run_program(argc, argv, s2s::run::setup_subcommands, s2s::without_url_secrets);
  s2s::end_process_if_threads_are_left(exit_code);
  return exit_code;
}

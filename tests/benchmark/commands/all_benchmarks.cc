// The library of s2s-bench, which its launcher opens: the commands of `s2s-run bench`, and those
// for developers. s2s-run becomes s2s-bench for the latter and leaves its command line as it is.

#include <filesystem>
#include <string>
#include <vector>

#include "base/threads.h"
#include "benchmark/commands/commands.h"
#include "config/url_secrets.h"
#include "s2s_run/program.h"
#include "s2s_run/subcommands.h"

namespace {

void setup_benchmarks(const s2s::run::Command& program) {
  prepare_runs(program.invocation());
  add_benchmarks(setup_bench(program));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int s2s_run_all_commands(int argc, char** argv) {
  std::vector<char*> words(argv, argv + argc);
  std::string group = "bench";
  const bool is_named = std::filesystem::path(argv[0]).filename() == "s2s-bench";
  if (is_named) words.insert(words.begin() + 1, group.data());
  const int exit_code = s2s::run::run_program(static_cast<int>(words.size()), words.data(),
                                              setup_benchmarks, s2s::without_url_secrets);
  s2s::end_process_if_threads_are_left(exit_code);
  return exit_code;
}

// Where the commands of `s2s-run bench` are: some in s2s-run, and those for developers in
// s2s-bench.

#include <doctest/doctest.h>

#include <filesystem>

#include "cli/command.h"
#include "common/places.h"
#include "common/temporary_folder.h"

using s2s::test::CommandResult;
using s2s::test::has;
using s2s::test::run_cli;
using s2s::test::run_shell;

namespace fs = std::filesystem;

namespace {

CommandResult run_bench(const std::string& words) {
  return run_shell(s2s::test::binary_dir() + "/bin/s2s-bench " + words);
}

}  // namespace

TEST_CASE("s2s-run becomes s2s-bench for a benchmark of developers") {
  for (const char* words : {"fault --help", "fault kill", "llm --recompute 3", "frob"}) {
    CAPTURE(words);
    const CommandResult typed = run_cli(std::string("bench ") + words), own = run_bench(words);
    CHECK(typed.exit_code == own.exit_code);
    CHECK_MESSAGE(typed.output == own.output, own.output);
  }
  CHECK(run_cli("help bench fault").output == run_bench("fault --help").output);
  const CommandResult all = run_bench("--help");
  CHECK_MESSAGE((has(all, "\n  train") && has(all, "\n  fault")), all.output);
  CHECK(run_cli("--plugin-path no/such bench fault --help").exit_code == 0);
  CHECK(run_cli("bench fault kill").exit_code == 2);
  CHECK(run_cli("bench fault --help | head -0").exit_code == 0);
}

TEST_CASE("an installed s2s-run says which benchmarks it has, and how to build the others") {
  const s2s::test::TemporaryFolder folder;
  fs::create_directory(folder.path() / "bin");
  fs::copy_file(s2s::test::binary_dir() + "/bin/s2s-run", folder.path() / "bin/s2s-run");
  fs::create_directory_symlink(s2s::test::binary_dir() + "/lib", folder.path() / "lib");
  const std::string program = (folder.path() / "bin/s2s-run").string();
  const CommandResult missing = run_shell(program + " bench llm --preset tiny");
  CHECK(missing.exit_code == 2);
  CHECK_MESSAGE(has(missing,
                    "error: [usage/command] s2s-run bench has no command 'llm'\n"
                    "  known:     train, collectives\n"
                    "  next:      build the benchmarks of developers (data, fault, llm, model, "
                    "parallel): bash core/setup.sh --tests\n"
                    "  see:       s2s-run bench --help\n"),
                missing.output);
  CHECK(has(run_shell(program + " bench --help"),
            "Developers have more, in s2s-bench: data, fault, llm, model, parallel."));
  CHECK(run_shell(program + " bench collectives --help").exit_code == 0);
}

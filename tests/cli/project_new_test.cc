// `s2s-run new` and what it refuses; tests/cli/train/project_test.cc trains what it makes.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "cli/command.h"
#include "common/temporary_folder.h"

using s2s::test::CommandResult;
using s2s::test::has;
using s2s::test::run_cli;
using s2s::test::TemporaryFolder;

namespace {

namespace fs = std::filesystem;

/// Runs `s2s-run new WORDS` in a folder; `before`: commands of the shell in front of it.
CommandResult run_new(const TemporaryFolder& folder, const std::string& words,
                      const std::string& before = "") {
  return run_cli("new " + words, "cd " + folder.path().string() + " && " + before);
}

}  // namespace

TEST_CASE("new refuses names that are none for a project, and makes nothing") {
  const TemporaryFolder folder;
  for (const std::string name :
       {".", "..", "/", "''", "'my project'", ".hidden", "a/..", "'a\"b'", "a:b", "'a;b'"}) {
    CAPTURE(name);
    const CommandResult refused = run_new(folder, name);
    CHECK(refused.exit_code == 2);
    CHECK_MESSAGE(has(refused, "error: [project/name] s2s-run new: '"), refused.output);
    CHECK(has(refused, "next:      choose another name, for example my-project"));
  }
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("new refuses what is there already, even an empty folder, and changes nothing") {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "empty");
  std::ofstream(folder.path() / "file") << "mine";
  fs::create_symlink("nowhere", folder.path() / "link");
  for (const std::string name : {"empty", "empty/", "file", "link"}) {
    CAPTURE(name);
    const CommandResult refused = run_new(folder, name);
    CHECK(refused.exit_code == 5);
    CHECK_MESSAGE(has(refused, "error: [project/exists] s2s-run new: '"), refused.output);
    CHECK(has(refused, "already exists; nothing was written"));
  }
  CHECK(fs::is_empty(folder.path() / "empty"));
  CHECK(fs::file_size(folder.path() / "file") == 4);
}

TEST_CASE("new says which words it takes") {
  const TemporaryFolder folder;
  const CommandResult missing = run_new(folder, "");
  CHECK(missing.exit_code == 2);
  CHECK_MESSAGE(has(missing, "[usage/arguments] s2s-run new: project is required"), missing.output);
  const CommandResult unknown = run_new(folder, "mine --template large");
  CHECK(unknown.exit_code == 2);
  CHECK_MESSAGE(has(unknown, "--template: large not in {tiny,demo}"), unknown.output);
  CHECK(has(run_cli("init mine"), "did you mean 'new'?"));
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("new leaves nothing behind when it cannot write") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "mine";
  const CommandResult below_file = run_new(folder, "file/mine");
  CHECK(below_file.exit_code == 5);
  CHECK_MESSAGE(has(below_file, "error: [io/write] file/mine"), below_file.output);
  CHECK(has(below_file, "choose another path"));
  // A limit on the size of files: the first files fit, the configuration does not.
  const CommandResult limited = run_new(folder, "mine", "ulimit -f 4 &&");
  CHECK(limited.exit_code == 5);
  CHECK_MESSAGE(has(limited, "error: [io/write] "), limited.output);
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

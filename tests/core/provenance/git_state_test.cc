#include "provenance/git_state.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/temporary_folder.h"

using s2s::run::GitState;
using s2s::run::read_git_state;
using s2s::test::TemporaryFolder;

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

/// Runs git in `folder`; true if it succeeded.
bool git(const fs::path& folder, const std::string& words) {
  const std::string command = "git -C '" + folder.string() +
                              "' -c user.name=a -c user.email=a@b -c init.defaultBranch=work " +
                              words + " > /dev/null 2>&1";
  return std::system(command.c_str()) == 0;
}

void put(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("what has changed in a work tree is what git says") {
  const TemporaryFolder folder;
  const fs::path root = fs::canonical(folder.path());
  if (!git(root, "init")) {
    MESSAGE("skipped: no git");
    return;
  }
  CHECK(read_git_state(root).commit.empty());
  put(root / "a.txt", "one\n");
  put(root / "deep/er/b with blanks.txt", "two\n");
  put(root / "c.txt", "three\n");
  fs::create_symlink("a.txt", root / "link");
  REQUIRE(git(root, "add ."));
  REQUIRE(git(root, "commit -m first"));
  GitState state = read_git_state(root / "deep");
  CHECK(state.root == root.string());
  CHECK(state.branch == "work");
  CHECK(state.commit.size() == 40);
  CHECK(state.not_read.empty());
  CHECK(state.modified.empty());
  CHECK(state.missing.empty());
  CHECK_FALSE(state.may_have_staged);

  put(root / "deep/er/b with blanks.txt", "owt\n");                       // of the same size
  fs::last_write_time(root / "a.txt", fs::file_time_type::clock::now());  // the same content
  fs::remove(root / "c.txt");
  put(root / "new.txt", "not tracked\n");
  state = read_git_state(root);
  CHECK(state.modified == Names{"deep/er/b with blanks.txt"});
  CHECK(state.missing == Names{"c.txt"});

  REQUIRE(git(root, "add new.txt"));
  CHECK(read_git_state(root).may_have_staged);
  REQUIRE(git(root, "checkout --detach"));
  CHECK(read_git_state(root).branch.empty());
}

TEST_CASE("an index that cannot be read, or names files elsewhere, is no error") {
  const TemporaryFolder folder;
  const fs::path root = fs::canonical(folder.path());
  put(root / ".git/HEAD", "ref: refs/heads/main\n");
  put(root / ".git/index", "DIRC");
  CHECK(!read_git_state(root).not_read.empty());
  // One entry, whose name leads out of the work tree.
  const std::string name = "../" + root.filename().string() + ".outside";
  std::string index = std::string("DIRC\0\0\0\2\0\0\0\1", 12) + std::string(24, '\0') +
                      std::string("\0\0\201\244", 4) + std::string(32, '\0') +
                      static_cast<char>(0) + static_cast<char>(name.size()) + name;
  index += std::string(8 - (index.size() - 12) % 8, '\0');
  put(root / ".git/index", index);
  const GitState state = read_git_state(root);
  CHECK(state.modified.empty());
  CHECK(state.missing.empty());
  CHECK(state.not_read.empty());
}

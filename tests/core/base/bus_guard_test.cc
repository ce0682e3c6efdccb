
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/mapped_file.h"
#include "common/temporary_folder.h"

namespace {

namespace fs = std::filesystem;
using s2s::test::TemporaryFolder;

struct Ended {
  int status = 0;
  std::string said;
};

/// How a child ends in which `action` runs, and what it says to standard error.
Ended run_in_child(const std::function<void()>& action) {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe[1], STDERR_FILENO);
    ::close(pipe[0]);
    action();
    ::_exit(0);
  }
  ::close(pipe[1]);
  Ended ended;
  std::array<char, 4096> text{};
  for (ssize_t got = 0; (got = ::read(pipe[0], text.data(), text.size())) > 0;) {
    ended.said.append(text.data(), static_cast<size_t>(got));
  }
  ::close(pipe[0]);
  ::waitpid(child, &ended.status, 0);
  return ended;
}

/// Maps a file of four pages, cuts it, and touches what is gone.
void read_cut_file(const std::string& path) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::ofstream(path) << std::string(4 * page, 'x');
  const s2s::MappedFile file(path);
  fs::resize_file(path, page);
  volatile std::byte last = file.bytes()[4 * page - 1];
  static_cast<void>(last);
}

}  // namespace

TEST_CASE("a mapped file that becomes shorter is one message and the exit code of bad data") {
  const TemporaryFolder folder;
  const std::string path = folder / "tensors\x1b[2J";
  const Ended ended = run_in_child([&] { read_cut_file(path); });
  REQUIRE(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == 5);
  const std::string begin = "error: [io/file] " + (folder / "tensors\\x1b[2J") +
                            ": it became shorter while it was read\n";
  CHECK_MESSAGE(ended.said.starts_with(begin), ended.said);
}

TEST_CASE("a fault elsewhere ends as it did before") {
  const TemporaryFolder folder;
  const Ended ended = run_in_child([&] {
    ::signal(SIGBUS, SIG_DFL);  // whatever the test program has
    { const s2s::GuardedMapping first(&folder, 1, "first"); }
    ::raise(SIGBUS);
  });
  REQUIRE(WIFSIGNALED(ended.status));
  CHECK(WTERMSIG(ended.status) == SIGBUS);
  CHECK(ended.said == "");
}

TEST_CASE("mappings that are gone are guarded no more, however many there were") {
  const TemporaryFolder folder;
  const std::string path = folder / "many";
  std::ofstream(path).close();  // without the bytes that are mapped
  std::vector<std::unique_ptr<s2s::GuardedMapping>> many;
  std::array<char, 1000> memory{};
  for (const char& byte : memory) {
    many.push_back(std::make_unique<s2s::GuardedMapping>(&byte, 1, path));
  }
  const Ended guarded = run_in_child([&] { s2s::end_if_mapping_was_cut(&memory[999]); });
  CHECK(WEXITSTATUS(guarded.status) == 5);
  many.clear();
  const Ended free = run_in_child([&] { s2s::end_if_mapping_was_cut(&memory[999]); });
  CHECK(WEXITSTATUS(free.status) == 0);
  CHECK(free.said == "");
}

TEST_CASE("a page that cannot be read is reported, and ends the process by its signal") {
  const TemporaryFolder folder;
  const std::string path = folder / "mapped";
  const Ended ended = run_in_child([&] {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    std::ofstream(path) << std::string(4 * page, 'x');
    const s2s::MappedFile file(path);
    fs::resize_file(path, page);
    // The file of this name has all its bytes; it is the mapped one that gives none.
    std::ofstream(path + ".whole") << std::string(4 * page, 'x');
    fs::rename(path + ".whole", path);
    volatile std::byte last = file.bytes()[4 * page - 1];
    static_cast<void>(last);
  });
  CHECK(WIFSIGNALED(ended.status));
  CHECK(WTERMSIG(ended.status) == SIGBUS);
  CHECK(ended.said.find(path + ": a page of it could not be read") != std::string::npos);
}

#include "s2s/child_process.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <system_error>

#include "common/temporary_folder.h"
#include "s2s/foreign_text.h"

using s2s::ChildProcess;
using s2s::ChildSettings;
using s2s::ProcessEnd;
using s2s::test::TemporaryFolder;

namespace {

constexpr double kLong_s = 60;

std::optional<ProcessEnd> end_of(const std::string& script, const ChildSettings& settings = {}) {
  return ChildProcess({"/bin/sh", "-c", script}, settings).wait(kLong_s);
}

}  // namespace

TEST_CASE("a child process says how it ended") {
  CHECK(end_of("exit 0").value().is_ok());
  CHECK(end_of("exit 3").value().text() == "exit code 3");
  const ProcessEnd killed = end_of("kill -SEGV $$").value();
  CHECK(killed.signal == SIGSEGV);
  CHECK(killed.text() == "signal 11 (Segmentation fault)");
  CHECK_THROWS_AS(ChildProcess({"/no/such/program"}, {}), std::system_error);
}

TEST_CASE("a child process reads a file, writes to descriptors and has the given environment") {
  const TemporaryFolder folder;
  ChildSettings settings;
  settings.input = folder.write("input", "words");
  const std::string path = folder / "output";
  settings.output = settings.third = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(settings.output >= 0);
  std::string variable = "SAID=more";
  settings.environment = {variable.data(), nullptr};
  CHECK(end_of("/bin/cat; echo $SAID >&3", settings).value().is_ok());
  close(settings.output);
  CHECK(s2s::read_small_file(path) == "wordsmore\n");
}

TEST_CASE("output goes to new files, and one that cannot be made is an error") {
  const TemporaryFolder folder;
  ChildSettings settings;
  settings.output_file = folder / "output";
  settings.error = STDOUT_FILENO;
  CHECK(end_of("echo said; echo complained >&2", settings).value().is_ok());
  CHECK(s2s::read_small_file(settings.output_file) == "said\ncomplained\n");
  settings.output_file = folder / "missing/output";
  CHECK_THROWS_AS(end_of("true", settings), std::system_error);
}

TEST_CASE("ends are known where whoever started this process ignores SIGCHLD") {
  std::signal(SIGCHLD, SIG_IGN);
  CHECK(end_of("exit 3").value().exit_code == 3);
  CHECK(end_of("exit 0").value().is_ok());
}

TEST_CASE("a child process that goes on is ended with its group, and ignored signals are not its") {
  std::signal(SIGTERM, SIG_IGN);
  ChildSettings settings;
  std::optional<ChildProcess> child;
  child.emplace(std::vector<std::string>{"/bin/sh", "-c", "sleep 600 & wait"}, settings);
  CHECK_FALSE(child->wait(0.01));
  CHECK_FALSE(child->end());
  child->send_signal(SIGTERM);
  CHECK(child->wait(kLong_s).value().signal == SIGTERM);
  std::signal(SIGTERM, SIG_DFL);
  // One that ignores SIGTERM is killed.
  settings.time_to_end_s = 0.05;
  child.emplace(std::vector<std::string>{"/bin/sh", "-c", "trap '' TERM; sleep 600"}, settings);
  child.reset();
  CHECK(s2s::find_program("no-such-program-anywhere").empty());
  CHECK(s2s::find_program("sh").ends_with("/sh"));
}

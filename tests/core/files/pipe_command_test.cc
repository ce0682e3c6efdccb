// Which commands run, in what surroundings, and when they are given up.

#include "files/pipe_command.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/machine.h"
#include "common/allowed_commands.h"
#include "common/contains.h"
#include "common/temporary_folder.h"
#include "config/distrusted_files.h"
#include "config/load_config.h"
#include "files/line_file.h"
#include "files/open_bytes.h"
#include "s2s/error.h"

namespace s2s::files {
namespace {

using test::AllowedCommands;
using test::contains;
using test::TemporaryFolder;

std::string error_of(const std::string& command, const CommandLimits& limits = {}) {
  try {
    read_command(command, limits);
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::kData);
    return error.what();
  }
  return "no error";
}

/// Whether a process is there, for as long as it may take to end.
bool ends_soon(pid_t process) {
  for (int i = 0; i < 500; ++i) {
    if (kill(process, 0) != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST_CASE("a command that nobody typed or allowed is refused and does not run") {
  const TemporaryFolder folder;
  const std::string mark = folder / "ran";
  const std::string message = error_of("touch " + mark + " # \x1b[2J");
  CHECK(contains(message, "[data/command-refused] the shell command 'touch " + mark));
  CHECK(contains(message, "\\x1b[2J"));  // it reaches a terminal
  CHECK(contains(message, "data.allow_commands=true"));
  CHECK(contains(message, "--allow-commands"));
  CHECK(contains(message, "S2S_ALLOW_COMMANDS=1"));
  CHECK_THROWS_WITH_AS(open_line_file("pipe:touch " + mark),
                       doctest::Contains("[data/command-refused]"), Error);
  CHECK_THROWS_WITH_AS(read_all_bytes("pipe:touch " + mark, "bytes"),
                       doctest::Contains("[data/command-refused]"), Error);
  CHECK(!std::filesystem::exists(mark));
}

TEST_CASE("what is typed runs, and all that its pattern expands to, but nothing else") {
  Config block = Config::map();
  block["cuts"] = Config::list({Config::scalar("pipe:printf typed{0..2}")});
  allow_typed_commands(block);
  allow_typed_command("printf no-pipe");
  CHECK(read_command("printf typed2") == "typed2");
  CHECK(contains(error_of("printf typed3"), "[data/command-refused]"));
  CHECK(contains(error_of("printf no-pipe"), "[data/command-refused]"));
  CHECK(contains(error_of("printf typed2; id"), "[data/command-refused]"));
}

TEST_CASE("texts of a stranger's configuration are not typed, nor what refers to them") {
  s2s::distrust_file("/their/config.yaml");
  const auto is_typed = [](const std::string& command, const Origin& origin) {
    Config text = Config::scalar("pipe:" + command, true);
    text.set_origin(origin);
    allow_typed_commands(Config::list({text}));
    return is_command_allowed(command);
  };
  CHECK_FALSE(is_typed("printf 1", {"/their/config.yaml", 3, 1}));
  CHECK_FALSE(is_typed("printf 2", {"/their/config.yaml", 3, 1, "text pipe:${oc.env:X}"}));
  CHECK_FALSE(is_typed(
      "printf 3", {"environment X", 0, 0, "${oc.env:X,pipe:printf 3} at /their/config.yaml:3:1"}));
  CHECK_FALSE(is_typed("printf 4", {"command line: a=pipe:printf ${b}", 0, 0}));
  CHECK_FALSE(is_typed(
      "printf 5",
      {"environment X", 0, 0, "${oc.env:X,pipe:printf 5} at command line: a=${oc.env:X,${b}}"}));
  CHECK(is_typed("printf 6", {"command line: a=pipe:printf 6", 0, 0}));
  CHECK(is_typed("printf 7",
                 {"command line: b=pipe:printf 7", 0, 0, "${b} at /their/config.yaml:3:1"}));
  CHECK(
      is_typed("printf 8", {"environment X", 0, 0, "${oc.env:X} at command line: a=${oc.env:X}"}));
  CHECK(is_typed("printf 9", {"/my/config.yaml", 3, 1}));
}

TEST_CASE("a command with the value of a secret's variable in it is no command to run") {
  setenv("S2S_TEST_HF_TOKEN", "tell-nobody", 1);
  Config config = Config::map();
  config["cuts_path"] = Config::scalar("pipe:printf ${oc.env:S2S_TEST_HF_TOKEN}", true);
  config["cuts_path"].set_origin({"my.yaml", 2, 5});
  resolve_interpolations(config);
  CHECK(config.find("cuts_path")->text() == "pipe:printf tell-nobody");
  std::string message;
  try {
    allow_typed_commands(config);
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::kConfig);
    message = error.what();
  }
  CHECK(contains(message, "[data/command-secret] my.yaml:2:5: "));
  CHECK(contains(message, "write $S2S_TEST_HF_TOKEN in place of ${oc.env:S2S_TEST_HF_TOKEN}"));
  CHECK_FALSE(contains(message, "tell-nobody"));
  CHECK_FALSE(is_command_allowed("printf tell-nobody"));
  unsetenv("S2S_TEST_HF_TOKEN");
}

TEST_CASE("S2S_ALLOW_COMMANDS=1 allows all, another value none") {
  setenv("S2S_ALLOW_COMMANDS", "0", 1);
  CHECK(contains(error_of("printf variable"), "[data/command-refused]"));
  setenv("S2S_ALLOW_COMMANDS", "1", 1);
  CHECK(read_command("printf variable") == "variable");
  unsetenv("S2S_ALLOW_COMMANDS");
  CHECK(contains(error_of("printf variable"), "[data/command-refused]"));
}

TEST_CASE("a command has a process group of its own, and no signal ignored or blocked") {
  const AllowedCommands allowed;
  struct sigaction ignore = {}, before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  sigset_t blocked, mask;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &mask);
  const std::string group = read_command("ps -o pgid= -p $$");
  const std::string status = read_command("cat /proc/self/status");
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  sigaction(SIGPIPE, &before, nullptr);
  if (!group.empty()) CHECK(std::stol(group) != getpgrp());
  const auto signals = [&](const std::string& name) {
    constexpr uint64_t kStandard = 0x7fffffff;  // glibc keeps 32 and 33 for itself
    return std::stoull(status.substr(status.find(name) + name.size()), nullptr, 16) & kStandard;
  };
  CHECK(signals("SigBlk:") == 0);
  CHECK(signals("SigIgn:") == 0);
}

TEST_CASE("a command that ^C hits before it has a group of its own runs again, once") {
  const AllowedCommands allowed;
  const TemporaryFolder folder;
  const std::string mark = folder / "hit";
  CHECK(read_command("test -e " + mark + " || { touch " + mark + "; kill -INT $$; }; echo x", {}) ==
        "x\n");
  CHECK(contains(error_of("kill -INT $$"), "it was ended by Interrupt"));
}

TEST_CASE("a command that is silent for too long is ended with all that it started") {
  const AllowedCommands allowed;
  const TemporaryFolder folder;
  const std::string command = "sleep 1000 & echo $! > " + (folder / "pid") + "; echo hm >&2; wait";
  const std::string message = error_of(command, {.silence_s = 0.3});
  CHECK(contains(message, "[data/pipe]"));
  CHECK(contains(message, "it wrote nothing for 0.3 s"));
  CHECK(contains(message, ": hm;"));
  CHECK(ends_soon(std::stoi(read_command("cat " + (folder / "pid")))));
  CHECK(contains(error_of("exec >&-; sleep 1000", {.silence_s = 0.3}), "it wrote nothing"));
  // Time counts from the last output.
  const CommandLimits limits{.silence_s = 20};
  CHECK(read_command("for i in 1 2 3; do sleep 0.1; echo $i; done", limits) == "1\n2\n3\n");
}

TEST_CASE("the time is an option and a variable") {
  const AllowedCommands allowed;
  set_command_timeout(0.25);
  CHECK(command_limits().silence_s == 0.25);
  setenv("S2S_COMMAND_TIMEOUT_S", "7", 1);
  CHECK(command_limits().silence_s == 7);
  setenv("S2S_COMMAND_TIMEOUT_S", "soon", 1);
  CHECK_THROWS_WITH_AS(read_command("true"),
                       doctest::Contains("[data/command-timeout] S2S_COMMAND_TIMEOUT_S is 'soon'"),
                       Error);
  unsetenv("S2S_COMMAND_TIMEOUT_S");
  set_command_timeout(600);
}

TEST_CASE("a command that writes without end is ended") {
  const AllowedCommands allowed;
  const std::string message = error_of("cat /dev/zero", {.output_bytes = 1 << 20});
  CHECK(contains(message, "it wrote more than 1048576 bytes"));
}

TEST_CASE("a command that writes a little now and then is ended, too") {
  const AllowedCommands allowed;
  const CommandLimits limits{.silence_s = 0.3, .most_silences = 3};
  const std::string message = error_of("while :; do echo x; sleep 0.05; done", limits);
  CHECK(contains(message, "it took more than 0.9 s and was ended"));
}

TEST_CASE("what a command puts into another session, and lets go, is killed with it") {
  const AllowedCommands allowed;
  const TemporaryFolder folder;
  const std::string pid = folder / "pid";
  const std::string command = "setsid sh -c 'sleep 1000 & echo $! >" + pid +
                              "; sleep 999' >&- 2>&- & setsid -f sleep 998 >&- 2>&-; sleep 1000";
  CHECK(contains(error_of(command, {.silence_s = 1}), "it wrote nothing for 1 s"));
  CHECK(ends_soon(std::stoi(read_command("cat " + pid))));
  CHECK(read_command("printenv S2S_COMMAND_MARK | wc -l") == "1\n");
}

TEST_CASE("what a command writes is in memory once") {
  const AllowedCommands allowed;
  const double before = static_cast<double>(peak_memory_bytes());
  constexpr size_t kBytes = size_t{400} << 20;
  const std::string all = read_command("head -c " + std::to_string(kBytes) + " /dev/zero", {});
  CHECK(all.size() == kBytes);
  CHECK(all.find_first_not_of('\0') == std::string::npos);
  CHECK(static_cast<double>(peak_memory_bytes()) - before < 1.25 * kBytes);
}

TEST_CASE("what a command leaves running with an open standard error is not waited for") {
  const AllowedCommands allowed;
  const TemporaryFolder folder;
  const std::string pid = folder / "pid";
  CHECK(read_command("sleep 1000 >&- & echo $! > " + pid + "; echo done") == "done\n");
  CHECK(contains(error_of("sleep 1000 >&- & echo why >&2; exit 3"), "exit status 3: why"));
  const pid_t left = std::stoi(read_command("cat " + pid));
  CHECK(kill(left, SIGKILL) == 0);  // it is the user's
}

}  // namespace
}  // namespace s2s::files

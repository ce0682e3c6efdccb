#include "base/untrusted.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <new>

#include "base/machine.h"
#include "base/parser_process.h"
#include "common/temporary_folder.h"
#include "s2s/foreign_text.h"

namespace s2s {
namespace {

/// What `attempt` returns in a process of its own that has lost its rights; -1: it crashed.
int without_rights(const KeptRights& kept, const std::function<int()>& attempt) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      lose_rights(kept);
    } catch (const std::exception&) {
      ::_exit(100);
    }
    ::_exit(attempt());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int exec_true() {
  ::execl("/bin/true", "true", nullptr);
  return errno;
}
int open_socket() { return ::socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0; }
int trace_parent() {
  return ::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr) < 0 ? errno : 0;
}
int read_parent() {
  return ::syscall(SYS_process_vm_readv, ::getppid(), nullptr, 0, nullptr, 0, 0) < 0 ? errno : 0;
}
int make_namespace() { return ::unshare(CLONE_NEWUSER) < 0 ? errno : 0; }
int share_nothing() { return ::unshare(CLONE_FS) < 0 ? errno : 0; }
int fork_child() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(exec_true() == EPERM ? 7 : 0);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}
int use_memory() {
  rlimit limit{};
  ::getrlimit(RLIMIT_DATA, &limit);
  const double there = machine_memory().total;
  if (static_cast<double>(limit.rlim_cur) > there * kUntrustedMemoryShare) return 1;
  void* const much = std::malloc(static_cast<size_t>(there));
  return much == nullptr ? 0 : 2;
}

}  // namespace

TEST_CASE("a process without rights starts no program and opens no socket") {
  CHECK(without_rights({}, exec_true) == EPERM);
  CHECK(without_rights({}, fork_child) == 7);  // nor do its children
  CHECK(without_rights({}, open_socket) == EPERM);
  CHECK(without_rights({.network = true}, open_socket) == 0);
  CHECK(without_rights({.network = true}, exec_true) == EPERM);
}

TEST_CASE("a process without rights reaches no other process and makes no namespace") {
  CHECK(without_rights({}, trace_parent) == EPERM);
  CHECK(without_rights({}, read_parent) == EPERM);
  CHECK(without_rights({}, make_namespace) == EPERM);
  CHECK(without_rights({}, share_nothing) == 0);  // outside_current_folder needs it
}

TEST_CASE("a process without rights has less memory than the machine, and an end of time") {
  CHECK(without_rights({}, use_memory) == 0);
  const auto seconds = [] {
    rlimit limit{};
    ::getrlimit(RLIMIT_CPU, &limit);
    return limit.rlim_cur == kUntrustedSeconds ? 1 : 2;
  };
  CHECK(without_rights({}, seconds) == 1);
  CHECK(without_rights({.long_work = true}, seconds) == 2);
}

TEST_CASE("a command that has used all its processor time ends with one message") {
  const test::TemporaryFolder folder;
  const std::string log = folder / "log";
  const auto loop = [&] {
    std::freopen(log.c_str(), "w", stderr);
    const rlimit limit{1, RLIM_INFINITY};
    ::setrlimit(RLIMIT_CPU, &limit);
    volatile uint64_t count = 0;
    while (true) count = count + 1;
    return 0;
  };
  CHECK(without_rights({}, loop) == static_cast<int>(ExitCode::kCheckFailed));
  CHECK(read_small_file(log).find("error: [untrusted/time] --untrusted: ") != std::string::npos);
}

TEST_CASE("without processes for parsers, the command does not start") {
  const auto no_files = [] {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_NOFILE, &none);
    try {
      start_parser_processes();
    } catch (const Error& error) {
      return error.id() == "untrusted/system" ? 0 : 1;
    }
    return 2;
  };
  CHECK(without_rights({}, no_files) == 0);
}

TEST_CASE("S2S_UNTRUSTED is on unless it is empty or 0") {
  const char* const before = std::getenv("S2S_UNTRUSTED");
  CHECK(before == nullptr);
  CHECK_FALSE(is_untrusted());
  for (const char* on : {"1", "yes", "false"}) {
    ::setenv("S2S_UNTRUSTED", on, 1);
    CHECK(is_untrusted());
  }
  for (const char* off : {"", "0"}) {
    ::setenv("S2S_UNTRUSTED", off, 1);
    CHECK_FALSE(is_untrusted());
  }
  set_untrusted();
  CHECK(is_untrusted());
  ::unsetenv("S2S_UNTRUSTED");
}

}  // namespace s2s

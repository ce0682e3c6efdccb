#include "base/interrupt.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "s2s/interrupted_calls.h"

namespace {

/// How a child process that runs `body` ends: its exit status as waitpid says it.
template <class Body>
int status_of_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("the first signal asks for a stop and the program goes on") {
  const s2s::InterruptWatch watch;
  CHECK_FALSE(watch.requested());
  raise(SIGTERM);
  CHECK(watch.requested());
  CHECK(watch.signal_number() == SIGTERM);
}

TEST_CASE("a watch begins without a request, and a request can be made without a signal") {
  s2s::InterruptWatch watch;
  CHECK_FALSE(watch.requested());
  watch.request(SIGINT);
  CHECK(watch.signal_number() == SIGINT);
}

TEST_CASE("the second signal ends the process with 128 and its number") {
  const int status = status_of_child([] {
    const s2s::InterruptWatch watch;
    raise(SIGINT);
    raise(SIGINT);
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
}

TEST_CASE("one signal alone does not end the process") {
  const int status = status_of_child([] {
    const s2s::InterruptWatch watch;
    raise(SIGINT);
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("SIGUSR1 asks for a stop, and does not count as the first of two") {
  const int status = status_of_child([] {
    const s2s::InterruptWatch watch;
    raise(SIGUSR1);
    raise(SIGUSR1);
    raise(SIGTERM);
    raise(SIGUSR1);
    _exit(watch.signal_number() == SIGTERM ? 7 : 1);
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
  const int later = status_of_child([] {
    const s2s::InterruptWatch watch;
    raise(SIGUSR1);
    raise(SIGTERM);
    raise(SIGTERM);
  });
  CHECK(WEXITSTATUS(later) == 143);
}

TEST_CASE("SIGHUP asks for a stop, however often it comes, and SIGTERM after it is the first") {
  const int status = status_of_child([] {
    signal(SIGHUP, SIG_DFL);
    const s2s::InterruptWatch watch;
    raise(SIGHUP);
    raise(SIGHUP);
    if (watch.signal_number() != SIGHUP) _exit(1);
    raise(SIGTERM);
    _exit(watch.signal_number() == SIGTERM ? 7 : 2);
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("a SIGHUP that nohup has ignored stays ignored") {
  const int status = status_of_child([] {
    signal(SIGHUP, SIG_IGN);
    {
      const s2s::InterruptWatch watch;
      raise(SIGHUP);
      if (watch.requested()) _exit(1);
    }
    raise(SIGHUP);
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("who outlives readers gets an error of the write, and its children do not") {
  int ends[2] = {-1, -1};
  REQUIRE(pipe(ends) == 0);
  close(ends[0]);
  const int status = status_of_child([&] {
    signal(SIGPIPE, SIG_DFL);
    s2s::outlive_readers();
    if (write(ends[1], "x", 1) != -1 || errno != EPIPE) _exit(1);
    dup2(ends[1], STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", "echo x; exit 1", nullptr);
  });
  close(ends[1]);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGPIPE);
}

TEST_CASE("the first signal is announced, the second is not") {
  int ends[2] = {-1, -1};
  REQUIRE(pipe(ends) == 0);
  const int status = status_of_child([&] {
    dup2(ends[1], STDERR_FILENO);
    const s2s::InterruptWatch watch("stopping soon\n");
    raise(SIGINT);
    raise(SIGINT);
  });
  close(ends[1]);
  char text[64] = {};
  CHECK(read(ends[0], text, sizeof(text) - 1) == 14);
  close(ends[0]);
  CHECK(std::string(text) == "stopping soon\n");
  CHECK(WEXITSTATUS(status) == 130);
}

TEST_CASE("afterwards signals do what they did before") {
  const int status = status_of_child([] {
    signal(SIGTERM, SIG_DFL);
    { const s2s::InterruptWatch watch; }
    raise(SIGTERM);
  });
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
}

TEST_CASE("there is one watch at a time") {
  const s2s::InterruptWatch watch;
  CHECK_THROWS_AS(s2s::InterruptWatch(), std::logic_error);
}

TEST_CASE("warnings are held back until there is a watch, and after it again") {
  const int status = status_of_child([] {
    s2s::hold_warnings();
    raise(SIGUSR1);
    raise(SIGHUP);
    {
      const s2s::InterruptWatch watch;
      if (!watch.requested()) _exit(1);
    }
    raise(SIGUSR1);
    const s2s::InterruptWatch watch;
    if (watch.signal_number() != SIGUSR1) _exit(2);
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("a watch leaves the signals that nobody held back as they were") {
  const int status = status_of_child([] {
    { const s2s::InterruptWatch watch; }
    raise(SIGUSR1);
  });
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGUSR1);
}

TEST_CASE("an interrupted call is made again, but not for ever") {
  s2s::InterruptedCalls calls;
  int count = 0;
  for (errno = EINTR; calls.again();) ++count;
  CHECK(count == 999);
  calls.reset();
  CHECK(calls.again());
  errno = EIO;
  CHECK_FALSE(calls.again());
}

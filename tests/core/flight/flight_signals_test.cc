// Crashes of processes of their own: does the record get written?

#include "flight/flight_signals.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "base/threads.h"
#include "flight/progress_board.h"

namespace {

using std::chrono::milliseconds;

struct Crash {
  int signal = 0;      // that ended the process
  int exit_code = -1;  // where none did
  bool has_record = false;
};

/// Runs `body` in a process in which a thread writes a record at a crash, which takes `time`.
template <class Body>
Crash crash_of(milliseconds time, Body body) {
  int ends[2] = {-1, -1};
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    s2s::FlightSignals signals;
    std::thread([&] {
      while (signals.fatal() == 0) std::this_thread::sleep_for(milliseconds(5));
      std::this_thread::sleep_for(time);
      if (write(ends[1], "x", 1) == 1) signals.record_is_written();
    }).detach();
    body();
    _exit(7);
  }
  close(ends[1]);
  char byte = 0;
  Crash out;
  out.has_record = read(ends[0], &byte, 1) == 1;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) out.signal = WTERMSIG(status);
  if (WIFEXITED(status)) out.exit_code = WEXITSTATUS(status);
  return out;
}

/// Uses up the stack, unless nobody asks for so much.
int recurse(volatile const int& depth, int level) {
  volatile char here[4096];
  here[0] = static_cast<char>(level);
  return level == depth ? 0 : recurse(depth, level + 1) + here[0];
}

/// A store whose keeper hangs.
class HangingStore : public c10d::HashStore {
 public:
  c10::intrusive_ptr<c10d::Store> clone() override { return c10::make_intrusive<HangingStore>(); }
  bool check(const std::vector<std::string>&) override {
    while (true) pause();
  }
};

/// The exit code of a process whose board had this store, and which then ends by itself with 3.
int end_with_board(const c10::intrusive_ptr<c10d::Store>& store) {
  const pid_t child = fork();
  if (child == 0) {
    { const s2s::ProgressBoard board(*store, 0, 2, milliseconds(10)); }
    s2s::end_process_if_threads_are_left(7);
    _exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("a stack that overflows leaves a record") {
  const Crash crash = crash_of(milliseconds(0), [] {
    volatile const int depth = 1 << 30;
    recurse(depth, 0);
  });
  CHECK(crash.has_record);
  CHECK(crash.signal == SIGSEGV);
}

TEST_CASE("a second thread that crashes while the record is written waits for it") {
  const Crash crash = crash_of(milliseconds(300), [] {
    std::thread([] {
      std::this_thread::sleep_for(milliseconds(50));
      raise(SIGSEGV);
    }).detach();
    raise(SIGABRT);
  });
  CHECK(crash.has_record);
  CHECK(crash.signal == SIGABRT);
}

TEST_CASE("a process with a thread that waits for a store ends without static destructors") {
  CHECK(end_with_board(c10::make_intrusive<HangingStore>()) == 7);
}

TEST_CASE("a board whose store answers leaves no thread") {
  CHECK(end_with_board(c10::make_intrusive<c10d::HashStore>()) == 3);
}

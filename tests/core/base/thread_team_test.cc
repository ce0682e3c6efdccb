// Threads that cannot be started, or throw, end in one error.

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <new>

#include "base/threads.h"
#include "s2s/threads.h"

using namespace s2s;

TEST_CASE("threads run a body each, and all have ended when run_threads returns") {
  std::atomic<int> calls = 0;
  run_threads(3, [&] { ++calls; });
  CHECK(calls == 3);
  run_threads(0, [&] { ++calls; });
  CHECK(calls == 4);
}

TEST_CASE("what a thread throws stops the others and is thrown again") {
  std::atomic<bool> stopping = false;
  std::atomic<int> ended = 0;
  std::atomic<int> number = 0;
  const auto body = [&] {
    if (number++ == 0) throw std::bad_alloc();
    while (!stopping) std::this_thread::yield();
    ++ended;
  };
  CHECK_THROWS_AS(run_threads(3, body, [&] { stopping = true; }), std::bad_alloc);
  CHECK(ended == 2);
  CHECK_THROWS_AS(run_threads(1, [] { throw 5; }), int);
}

TEST_CASE("a team that goes out of scope stops its threads and waits for them") {
  std::atomic<bool> stopping = false;
  std::atomic<bool> ended = false;
  {
    ThreadTeam team([&] { stopping = true; });
    team.start([&] {
      while (!stopping) std::this_thread::yield();
      ended = true;
    });
  }
  CHECK(ended);
}

#include "profile/processor_waits.h"

#include <doctest/doctest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <filesystem>

#include "s2s/threads.h"

namespace s2s::run {
namespace {

/// Keeps the calling thread on one processor for the life of the object.
class OnOneProcessor {
 public:
  explicit OnOneProcessor(int processor) {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
  }
  ~OnOneProcessor() { sched_setaffinity(0, sizeof(before_), &before_); }
  OnOneProcessor(const OnOneProcessor&) = delete;
  OnOneProcessor& operator=(const OnOneProcessor&) = delete;

 private:
  cpu_set_t before_;
};

void spin(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST_CASE("a thread that shares its processor waits for it") {
  if (!std::filesystem::exists("/proc/self/schedstat")) {
    MESSAGE("skipped: this system does not say how long threads wait for a processor");
    return;
  }
  ProcessorWaits waits;
  const OnOneProcessor here(sched_getcpu());
  std::atomic<bool> stopped = false;
  ThreadTeam neighbors([&] { stopped = true; });
  for (int i = 0; i < 2; ++i) {  // they inherit the processor
    neighbors.start([&] {
      while (!stopped) {
      }
    });
  }
  CHECK(waits.share() == 0);
  spin(std::chrono::milliseconds(1100));
  CHECK(waits.share() > 0.3);  // two thirds, if nothing else runs
  stopped = true;
  neighbors.join();
}

}  // namespace
}  // namespace s2s::run

// A step that takes too long leaves the stacks of all threads and the ids of its batch.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "common/contains.h"
#include "common/temporary_folder.h"
#include "flight/flight_recorder.h"
#include "flight/thread_stacks.h"
#include "s2s/foreign_text.h"

namespace {

using s2s::FlightRecorder;
using s2s::FlownThread;
using s2s::RankFlight;
using s2s::test::contains;
using s2s::test::TemporaryFolder;
using std::chrono::milliseconds;

s2s::FlightSettings quick(const TemporaryFolder& folder) {
  s2s::FlightSettings settings;
  settings.folder = folder.path().string();
  settings.slow_step = milliseconds(50);
  return settings;
}

/// Waits for the record; false when there is none in time.
bool has_record(const std::string& file, milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end) {
    if (std::filesystem::exists(file)) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

}  // namespace

TEST_CASE(
    "the stacks of all threads are collected, also of one that sleeps and one that computes") {
  std::atomic<bool> ends{false};
  std::atomic<int> started{0};
  std::thread sleeps([&] {
    ++started;
    while (!ends) std::this_thread::sleep_for(milliseconds(5));
  });
  std::thread computes([&] {
    ++started;
    while (!ends) started.load();
  });
  while (started < 2) std::this_thread::yield();
  const std::vector<FlownThread> threads = s2s::thread_stacks();
  ends = true;
  sleeps.join();
  computes.join();
  CHECK(threads.size() >= 3);
  size_t num_answers = 0;
  for (const FlownThread& thread : threads) {
    CHECK(thread.id > 0);
    CHECK_FALSE(thread.state.empty());
    if (!thread.stack.empty()) ++num_answers;
  }
  CHECK(num_answers >= 3);
}

TEST_CASE("a slow step writes one record with its batch and the stacks, and the run goes on") {
  const TemporaryFolder folder;
  const std::string file = folder / "flight.0.json";
  FlightRecorder recorder({}, quick(folder));
  recorder.set_step(3);
  recorder.set_phase("data");
  recorder.set_batch("cut-1\ncut-2\n");
  REQUIRE(has_record(file, milliseconds(20000)));
  const RankFlight flight = s2s::parse_flight(s2s::read_small_file(file));
  CHECK_MESSAGE(contains(flight.reason, "step 3 takes longer than 0.05 s, in data"), flight.reason);
  CHECK(flight.state == "running");
  CHECK(flight.batch == std::vector<std::string>{"cut-1", "cut-2"});
  REQUIRE_FALSE(flight.threads.empty());
  std::filesystem::remove(file);
  CHECK_FALSE(has_record(file, milliseconds(600)));  // once for each step
}

TEST_CASE("validation, saving and a run without a step are not slow steps") {
  const TemporaryFolder folder;
  const std::string file = folder / "flight.0.json";
  FlightRecorder recorder({}, quick(folder));
  recorder.set_phase("data");  // step 0: before the first one
  CHECK_FALSE(has_record(file, milliseconds(500)));
  recorder.set_step(1);
  recorder.set_phase("validate");
  CHECK_FALSE(has_record(file, milliseconds(500)));
}

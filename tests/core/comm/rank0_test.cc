#include "comm/rank0.h"

#include <doctest/doctest.h>

#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "s2s/error.h"

using s2s::Rank0;

namespace {

/// What each of three ranks got, or threw.
std::vector<std::string> run_ranks(const std::function<std::string(Rank0&)>& body,
                                   std::chrono::milliseconds timeout = std::chrono::minutes(1)) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::string> results(3);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      const s2s::ProcessPlace place = {rank, 3, rank, 3, store.get(), timeout};
      Rank0 first(place);
      try {
        results[static_cast<size_t>(rank)] = body(first);
      } catch (const std::exception& error) {
        results[static_cast<size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

}  // namespace

TEST_CASE("rank 0 works alone, and all get its result, one after the other") {
  std::atomic<int> num_works = 0;
  const auto results = run_ranks([&](Rank0& first) {
    const std::string one = first.run("one", [&] { return std::to_string(++num_works); });
    return one + first.run("two", [&] { return std::to_string(++num_works); });
  });
  CHECK(results == std::vector<std::string>(3, "12"));
}

TEST_CASE("what rank 0 throws ends the others with its first line") {
  const auto results = run_ranks([&](Rank0& first) {
    return first.run("making data", []() -> std::string {
      throw s2s::Error(s2s::ExitCode::kData, "io/file", "no room\n  expected: some");
    });
  });
  CHECK(results[0] == "[io/file] no room\n  expected: some");
  for (size_t rank = 1; rank < 3; ++rank) {
    CAPTURE(results[rank]);
    CHECK(results[rank].find("[comm/rank-0-failed] rank " + std::to_string(rank) +
                             " ends because rank 0 failed (making data): [io/file] no room\n") ==
          0);
  }
}

TEST_CASE("a rank 0 that gives no sign of life is not waited for") {
  const auto results = run_ranks(
      [&](Rank0& first) {
        if (first.is_here()) return std::string("elsewhere");
        return first.run("making data", [] { return std::string(); });
      },
      std::chrono::milliseconds(300));
  CHECK(results[1].find("[comm/timeout] rank 1 waits for rank 0's work (making data)") == 0);
}

TEST_CASE("one that works longer than that is") {
  const auto results = run_ranks(
      [&](Rank0& first) {
        return first.run("making data", [] {
          std::this_thread::sleep_for(std::chrono::milliseconds(3500));
          return std::string("made");
        });
      },
      std::chrono::milliseconds(2200));
  CHECK(results == std::vector<std::string>(3, "made"));
}

TEST_CASE("a process alone has nobody to tell") {
  const s2s::ProcessPlace alone;
  CHECK(Rank0(alone).run("work", [] { return std::string("done"); }) == "done");
}

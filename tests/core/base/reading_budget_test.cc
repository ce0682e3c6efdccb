#include "base/reading_budget.h"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <limits>

#include "base/interrupt.h"
#include "s2s/error.h"

using s2s::ReadingBudget;

namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const s2s::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a budget grows with the bytes that are read, and with nothing else") {
  ReadingBudget budget("a file");
  CHECK(budget.most_values() == ReadingBudget::kAnyValues);
  CHECK(budget.most_bytes() == ReadingBudget::kAnyBytes);
  budget.take_values(ReadingBudget::kAnyValues);
  const std::string error = error_of([&] { budget.take_values(1); });
  CHECK(error ==
        "[io/too-much] 'a file' takes more than 1000000 values to read\n"
        "  expected:  at most 1000000 values for the 0 bytes of it that are read\n"
        "  next:      the file is damaged, or made to take memory or time; get it again from its "
        "author, or convert it with the program that wrote it");
  budget.admit(100);
  CHECK_NOTHROW(budget.take_values(399));
  CHECK_THROWS_AS(budget.take_values(1), s2s::Error);
  budget.take_bytes(ReadingBudget::kAnyBytes);
  CHECK(error_of([&] { budget.take_bytes(1); }).find("268435456 bytes of content") !=
        std::string::npos);
  budget.admit(uint64_t{1} << 30);
  CHECK_NOTHROW(budget.take_bytes(uint64_t{1} << 30));
}

TEST_CASE("files of one folder share a budget, and each has its own name in messages") {
  ReadingBudget folder("a folder");
  ReadingBudget file = folder.of_file("b");
  file.take_values(ReadingBudget::kAnyValues);
  CHECK(error_of([&] { folder.take_values(1); }).starts_with("[io/too-much] 'a folder'"));
  CHECK(error_of([&] { file.take_values(1); }).starts_with("[io/too-much] 'b'"));
}

TEST_CASE("numbers of any size do not overflow a budget") {
  ReadingBudget budget("a file");
  budget.admit(kMost);
  budget.admit(kMost);
  CHECK(budget.most_values() > ReadingBudget::kAnyValues);
  CHECK(budget.most_bytes() > ReadingBudget::kAnyBytes);
  CHECK_NOTHROW(budget.take_values(1));
  ReadingBudget small("a file");
  CHECK_THROWS_AS(small.take_values(kMost), s2s::Error);
  CHECK_THROWS_AS(small.take_values(kMost), s2s::Error);
  CHECK_THROWS_AS(small.take_bytes(kMost), s2s::Error);
}

TEST_CASE("reading ends when its time is over, which grows with the bytes that are read") {
  const auto begin = ReadingBudget::Clock::now() - std::chrono::seconds(61);
  ReadingBudget budget("a file", begin);
  CHECK(error_of([&] {
          budget.keep_time();
        }).starts_with("[io/too-much] 'a file' takes more than 60 s to read"));
  CHECK_THROWS_AS(budget.take_values(5000), s2s::Error);  // looks at the clock
  budget.admit(uint64_t{1} << 30);
  CHECK_NOTHROW(budget.keep_time());
}

TEST_CASE("an interrupt ends a long read, not a short one") {
  const auto begin = ReadingBudget::Clock::now() - std::chrono::seconds(3);
  ReadingBudget budget("a file", begin);
  CHECK_NOTHROW(budget.keep_time());
  {
    s2s::InterruptWatch watch;
    watch.request(SIGINT);
    CHECK(error_of([&] {
            budget.keep_time();
          }).starts_with("[io/interrupted] reading 'a file' was interrupted"));
    ReadingBudget fresh("a file");  // as a run reads for its last checkpoint
    CHECK_NOTHROW(fresh.keep_time());
  }
  CHECK_NOTHROW(budget.keep_time());
}

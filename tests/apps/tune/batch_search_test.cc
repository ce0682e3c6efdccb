#include "s2s_run/tune/batch_search.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace s2s::run;

namespace {

/// A machine that needs `model` bytes, and `row` for each row to a power.
struct Machine {
  double model = 0, row = 1, limit = 0, power = 1;
  BatchTrial run(int64_t rows) const {
    const double peak = model + row * std::pow(static_cast<double>(rows), power);
    return {rows, peak <= limit, peak, model};
  }
  int64_t most() const {
    return static_cast<int64_t>(std::pow((limit - model) / row, 1 / power) + 1e-9);
  }
};

BatchSearch searched(const Machine& machine, int64_t guess, double threshold, double known_limit,
                     int64_t most = 4096) {
  BatchSearch search(guess, threshold, known_limit, most);
  while (const auto rows = search.next()) {
    REQUIRE(*rows >= 1);
    REQUIRE(*rows <= most);
    REQUIRE(search.num_trials() < 40);
    search.add(machine.run(*rows));
  }
  return search;
}

}  // namespace

TEST_CASE("the search ends within the threshold below the largest batch, whatever it begins with") {
  const Machine machine{1000, 7, 2000};
  REQUIRE(machine.most() == 142);
  for (const int64_t guess : {1, 3, 100, 142, 143, 200, 4000, 1000000}) {
    for (const double limit : {0.0, 2000.0}) {
      for (const double threshold : {0.001, 0.05, 0.2}) {
        const BatchSearch search = searched(machine, guess, threshold, limit);
        CHECK(search.largest() <= 142);
        CHECK(static_cast<double>(search.largest()) * (1 + threshold) + 1 >= 142);
      }
    }
  }
}

TEST_CASE("few trials are needed where memory grows with the rows and the guess is near") {
  CHECK(searched({1000, 7, 2000}, 130, 0.05, 2000).num_trials() <= 3);
  CHECK(searched({1000, 7, 2000}, 20, 0.05, 2000).num_trials() <= 3);
  CHECK(searched({1000, 7, 2000}, 400, 0.05, 2000).num_trials() <= 5);
  CHECK(searched({1000, 3, 2000, 1.2}, 100, 0.05, 2000).num_trials() <= 5);
}

TEST_CASE("one row or none, and more rows than the search may try") {
  CHECK(searched({1000, 700, 2000}, 8, 0.05, 2000).largest() == 1);
  const BatchSearch none = searched({1000, 1001, 2000}, 8, 0.05, 2000);
  CHECK(none.largest() == 0);
  CHECK_FALSE(none.best());
  CHECK(searched({0, 1, 2000}, 1, 0.05, 0, 64).largest() >= 61);
}

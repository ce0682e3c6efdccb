#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/places.h"
#include "s2s/error.h"
#include "streams/numpy_random.h"
#include "streams/python_random.h"

namespace s2s::data {
namespace {

using nlohmann::json;

/// Of one generator. By value: a reference into a temporary would not outlive a for loop's head.
json reference_draws(const char* generator) {
  std::ifstream file(s2s::test::source_dir() + "/tests/reference/data/random_numbers.json");
  return json::parse(file).at(generator);
}

// Doubles are written by float.hex().
double number(const json& text) { return std::strtod(text.get<std::string>().c_str(), nullptr); }

template <typename Draw>
void check_doubles(const json& expected, Draw draw) {
  for (const json& text : expected) CHECK(draw() == number(text));
}

template <typename Draw>
void check_numbers(const json& expected, Draw draw) {
  for (const json& value : expected) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    CHECK(std::to_string(draw()) == text);
  }
}

std::vector<int> counted(int n) {
  std::vector<int> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

void check_python(const json& row) {
  PythonRandom rng(row["seed"].get<int64_t>());
  std::vector<int> items = counted(50);
  rng.shuffle(items);
  CHECK(items == row["shuffled"].get<std::vector<int>>());
  check_doubles(row["random"], [&] { return rng.random(); });
  int bits[] = {0, 1, 7, 31, 32, 33, 48, 63, 64};
  check_numbers(row["bits"], [&, i = 0]() mutable { return rng.getrandbits(bits[i++]); });
  check_numbers(row["randrange"], [&] { return rng.randrange(-5, 1000, 7); });
  check_numbers(row["randrange_down"], [&] { return rng.randrange(90, -10, -9); });
  check_numbers(row["randrange_large"], [&] { return rng.randrange(int64_t{1} << 40); });
  check_numbers(row["randint"], [&] { return rng.randint(3, 12); });
  check_doubles(row["uniform"], [&] { return rng.uniform(-2.5, 0.75); });
  check_numbers(row["choice"], [&] { return rng.choice(700); });
  check_numbers(row["choices"], [&] { return rng.choices(size_t{700}); });
  const std::vector<double> sums = running_sums(std::vector{0.5, 0.0, 2.25, 1e-3, 7.0, 0.1});
  check_numbers(row["weighted"], [&] { return rng.choices(sums); });
  for (int i = 0; i < 695; ++i) rng.getrandbits(32);
  check_numbers(row["after"], [&] { return rng.getrandbits(32); });
}

}  // namespace

TEST_CASE("Python's random numbers are drawn bit for bit") {
  for (const json& row : reference_draws("python")) {
    CAPTURE(row["seed"].dump());
    check_python(row);
  }
}

TEST_CASE("default_rng's numbers are drawn bit for bit") {
  const std::vector<double> p = {0.1, 0.4, 0.05, 0.25, 0.2};
  for (const json& row : reference_draws("numpy")) {
    CAPTURE(row["seed"].dump());
    NumpyGenerator rng(row["seed"].get<uint64_t>());
    check_doubles(row["random"], [&] { return rng.random(); });
    check_doubles(row["uniform"], [&] { return rng.uniform(0.1, 1.2); });
    check_numbers(row["choice"], [&] { return rng.choice(p); });
  }
}

TEST_CASE("random numbers go on from a saved state") {
  for (const int num_draws : {0, 1, 623, 624, 625, 5000}) {
    PythonRandom python(7);
    NumpyGenerator generator(7);
    for (int i = 0; i < num_draws; ++i) {
      python.getrandbits(32);
      generator.next_word();
    }
    PythonRandom python_again;
    NumpyGenerator generator_again;
    python_again.restore(python.state());
    generator_again.restore(generator.state());
    CHECK(python.state().size() < 3400);
    for (int i = 0; i < 700; ++i) {
      REQUIRE(python_again.random() == python.random());
      REQUIRE(generator_again.random() == generator.random());
    }
  }
}

TEST_CASE("a damaged state of random numbers is refused") {
  PythonRandom rng(1);
  const std::string state = rng.state();
  for (const std::string& damaged : {std::string("?"), std::string(), state.substr(0, 900),
                                     state + "AAAAAAAA", "//" + state.substr(2)}) {
    CAPTURE(damaged);
    try {
      rng.restore(damaged);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.id() == "data/position");
    }
  }
}

TEST_CASE("weights that leave nothing to draw from are refused") {
  PythonRandom rng(1);
  for (const std::vector<double>& weights : {std::vector<double>{}, {0.0, 0.0}, {-1.0}}) {
    try {
      rng.choices(running_sums(weights));
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.id() == "data/empty-draw");
    }
  }
}

}  // namespace s2s::data

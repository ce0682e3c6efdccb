#pragma once
// What command line options expect of numbers, in words.

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <string>

namespace s2s::run {

/// A check of an option; its message names the value and what was expected.
template <class Accept>
CLI::Validator number_check(const std::string& expected, Accept accept) {
  const auto check = [expected, accept](std::string& text) -> std::string {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop == end && accept(value)) return {};
    return "'" + text + "'; expected " + expected;
  };
  return {check, "", "number"};
}

inline CLI::Validator positive() {
  return number_check("a number above 0", [](double value) { return value > 0; });
}
inline CLI::Validator not_negative() {
  return number_check("a number of at least 0", [](double value) { return value >= 0; });
}

inline CLI::Validator share() {
  return number_check("a number above 0 and at most 1",
                      [](double value) { return value > 0 && value <= 1; });
}
inline CLI::Validator whole_number() {
  return number_check("a whole number of at least 0", [](double value) {
    return value >= 0 && value == std::floor(value) && value <= 9007199254740992.0;  // 2^53
  });
}

}  // namespace s2s::run

#pragma once
// What command line options expect of numbers, in words.

#include <CLI/CLI.hpp>
#include <cctype>
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

/// Bytes of a size with its unit: 80GB (powers of 1000), 80GiB (of 1024).
inline CLI::Validator size_with_unit() {
  const auto transform = [](std::string& text) -> std::string {
    std::string bytes = text;
    bool is_size = !text.empty() && text[0] >= '0' && text[0] <= '9' &&
                   std::isalpha(static_cast<unsigned char>(text.back())) != 0;
    try {
      is_size = is_size && CLI::AsSizeValue(/*kb_is_1000=*/true)(bytes).empty();
    } catch (const CLI::ValidationError&) {
      is_size = false;
    }
    if (!is_size) return "'" + text + "'; expected a size with its unit, as 80GB or 80GiB";
    text = bytes;
    return {};
  };
  return {transform, "", "size"};
}

}  // namespace s2s::run

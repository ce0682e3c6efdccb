#pragma once
// Parses texts that are numbers.

#include <charconv>
#include <optional>
#include <string_view>

namespace s2s {

/// Returns the number if all of `text` is a number for std::from_chars, and nothing otherwise.
/// `base` is that of an integer, if it is not 10.
template <class Number, class... Base>
std::optional<Number> read_number(std::string_view text, Base... base) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value, base...);
  if (code != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace s2s

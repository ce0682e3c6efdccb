#pragma once
// Texts that are numbers.

#include <charconv>
#include <optional>
#include <string_view>

namespace s2s {

/// The number that all of `text` is, as std::from_chars reads it; nothing for another text. `base`:
/// of a whole number, if it is not 10.
template <class Number, class... Base>
std::optional<Number> read_number(std::string_view text, Base... base) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value, base...);
  if (code != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace s2s

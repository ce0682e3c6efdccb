#include "plain_value.h"

#include <charconv>
#include <cmath>

namespace s2s::trackers {

PlainValue plain_value(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  const bool is_number = error == std::errc() && stopped == end && std::isfinite(number);
  if (is_number) return number;
  return text;
}

}  // namespace s2s::trackers

#pragma once
// Decimal places.

#include <fmt/format.h>

#include <string>

namespace s2s::turn_taking {

/// Rounds as Python's round does, by the number's exact value.
inline double rounded(double value, int digits) {
  return std::stod(fmt::format("{:.{}f}", value, digits));
}

}  // namespace s2s::turn_taking

#pragma once
// Converts untrusted numbers to integers.

#include <cstdint>

namespace s2s {

/// Returns `value` without its fraction. Values that are no count of samples or frames (more than
/// 2^53) become the largest integer of their sign, and NaN becomes 0. Two results may be added
/// without overflow, whereas a cast of such a number is undefined.
constexpr int64_t to_whole(double value) {
  constexpr double kMost = 9007199254740992.0;
  if (value >= kMost) return int64_t{1} << 53;
  if (value <= -kMost) return -(int64_t{1} << 53);
  return value == value ? static_cast<int64_t>(value) : 0;  // NaN is not equal to itself
}

}  // namespace s2s

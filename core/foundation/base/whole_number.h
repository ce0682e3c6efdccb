#pragma once
// Foreign numbers as whole ones.

#include <cstdint>

namespace s2s {

/// `value` without what stands behind its point; what no count of samples or frames can be (more
/// than 2^53) becomes the largest of its sign, and NaN 0. Two of these may be added without
/// overflow, where a cast of such a number is undefined.
constexpr int64_t to_whole(double value) {
  constexpr double kMost = 9007199254740992.0;
  if (value >= kMost) return int64_t{1} << 53;
  if (value <= -kMost) return -(int64_t{1} << 53);
  return value == value ? static_cast<int64_t>(value) : 0;  // NaN is not equal to itself
}

}  // namespace s2s

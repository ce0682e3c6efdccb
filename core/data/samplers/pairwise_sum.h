#pragma once
// NumPy's sum of an array. It adds in pairs, so that rounding errors are equal to NumPy's.

#include <algorithm>
#include <cstddef>
#include <span>

namespace s2s::data {

/// Source: NumPy numpy/_core/src/umath/loops_utils.h.src, pairwise_sum.
template <typename T>
T pairwise_sum(std::span<const T> numbers) {
  const size_t size = numbers.size();
  if (size < 8) {
    T sum = 0;
    for (const T number : numbers) sum += number;
    return sum;
  }
  if (size > 128) {
    const size_t half = size / 2 - (size / 2) % 8;
    return pairwise_sum(numbers.first(half)) + pairwise_sum(numbers.subspan(half));
  }
  T sums[8];
  std::copy_n(numbers.begin(), 8, sums);
  const size_t whole = size - size % 8;
  for (size_t i = 8; i < whole; ++i) sums[i % 8] += numbers[i];
  T sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  for (const T number : numbers.subspan(whole)) sum += number;
  return sum;
}

}  // namespace s2s::data

#include "streams/python_random.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "s2s/error.h"
#include "streams/stream_errors.h"

namespace s2s::data {

std::vector<double> running_sums(std::span<const double> weights) {
  std::vector<double> sums(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums.begin());
  return sums;
}

void PythonRandom::seed(int64_t seed) {
  const uint64_t size = seed < 0 ? 0 - static_cast<uint64_t>(seed) : static_cast<uint64_t>(seed);
  const std::array<uint32_t, 2> words = {static_cast<uint32_t>(size),
                                         static_cast<uint32_t>(size >> 32)};
  twister_.seed(std::span(words).first(words[1] == 0 ? 1 : 2));
}

uint64_t PythonRandom::getrandbits(int num_bits) {
  S2S_ASSERT(num_bits >= 0 && num_bits <= 64, "Python's integers are cut to 64 bits here");
  if (num_bits == 0) return 0;
  if (num_bits <= 32) return twister_.next_word() >> (32 - num_bits);
  const uint64_t low = twister_.next_word();
  const uint64_t high = twister_.next_word() >> (64 - num_bits);
  return low | (high << 32);
}

uint64_t PythonRandom::randbelow(uint64_t n) {
  S2S_ASSERT(n > 0, "a draw needs a choice");
  const int num_bits = static_cast<int>(std::bit_width(n));
  uint64_t value = getrandbits(num_bits);
  while (value >= n) value = getrandbits(num_bits);
  return value;
}

int64_t PythonRandom::randrange(int64_t start, int64_t stop, int64_t step) {
  S2S_ASSERT(step != 0 && (stop - start) / step >= 0 && stop != start, "the range is not empty");
  const int64_t count =
      step > 0 ? (stop - start + step - 1) / step : (stop - start + step + 1) / step;
  return start + step * static_cast<int64_t>(randbelow(static_cast<uint64_t>(count)));
}

size_t PythonRandom::choices(size_t size) {
  return static_cast<size_t>(std::floor(random() * static_cast<double>(size)));
}

size_t PythonRandom::choices(std::span<const double> sums) {
  if (sums.empty() || !(sums.back() > 0) || !std::isfinite(sums.back())) {
    throw stream_errors::empty_draw("the weights do not add up to more than 0");
  }
  const double value = random() * sums.back();
  return static_cast<size_t>(std::upper_bound(sums.begin(), sums.end() - 1, value) - sums.begin());
}

}  // namespace s2s::data

#include "streams/numpy_random.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "s2s/error.h"
#include "streams/packed_text.h"
#include "streams/stream_errors.h"

namespace s2s::data {
namespace {

// Cumulative probabilities, ending at exactly 1.
std::vector<double> cumulative(std::span<const double> probabilities) {
  std::vector<double> sums(probabilities.size());
  std::partial_sum(probabilities.begin(), probabilities.end(), sums.begin());
  if (sums.empty() || !(sums.back() > 0)) {
    throw stream_errors::empty_draw("the probabilities do not add up to more than 0");
  }
  const double total = sums.back();
  for (double& sum : sums) sum /= total;
  return sums;
}

}  // namespace

int64_t NumpyRandomState::randint(int64_t low, int64_t high) {
  S2S_ASSERT(low < high, "the range is not empty");
  const uint64_t largest = static_cast<uint64_t>(high) - 1 - static_cast<uint64_t>(low);
  if (largest == 0) return low;
  // NumPy masks a word of the smallest sufficient size until the value is in the range.
  const uint64_t mask = ~uint64_t{0} >> std::countl_zero(largest);
  const bool is_short = largest <= 0xffffffffU;
  uint64_t value = 0;
  do {
    value = twister_.next_word();
    if (!is_short) value = (value << 32) | twister_.next_word();
    value &= mask;
  } while (value > largest);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + value);
}

size_t NumpyGenerator::choice(std::span<const double> probabilities) {
  const std::vector<double> sums = cumulative(probabilities);
  return static_cast<size_t>(std::upper_bound(sums.begin(), sums.end(), random()) - sums.begin());
}

std::string NumpyGenerator::state() const {
  PackedWriter writer;
  for (const UInt128 number : {generator_.state, generator_.increment}) {
    for (int shift = 0; shift < 128; shift += 32) {
      writer.add_word(static_cast<uint32_t>(number >> shift));
    }
  }
  return writer.text();
}

void NumpyGenerator::restore(std::string_view state) {
  PackedReader reader(state);
  for (UInt128* number : {&generator_.state, &generator_.increment}) {
    *number = 0;
    for (int shift = 0; shift < 128; shift += 32) {
      *number |= static_cast<UInt128>(reader.next_word()) << shift;
    }
  }
}

}  // namespace s2s::data

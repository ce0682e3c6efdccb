#include "streams/shuffled_range.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "s2s/error.h"
#include "streams/numpy_random.h"

namespace s2s::data {

ShuffledRange::ShuffledRange(int64_t size, int64_t seed) : size_(size) {
  const int bits =
      size <= 1 ? 2 : static_cast<int>(std::bit_width(static_cast<uint64_t>(size - 1)));
  half_bits_ = (std::max(2, bits) + 1) / 2;
  NumpyRandomState random(static_cast<uint32_t>(seed));
  // Lhotse draws below 2^63, which does not fit; the one value more is as good as never drawn.
  for (uint64_t& key : keys_) {
    key = static_cast<uint64_t>(random.randint(0, std::numeric_limits<int64_t>::max()));
  }
}

uint64_t ShuffledRange::encrypt(uint64_t value) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = value >> half_bits_ & mask;
  uint64_t right = value & mask;
  for (const uint64_t key : keys_) {
    uint64_t hash = (right ^ key) * 2654435761ULL;
    hash ^= hash >> 17;
    hash *= 0xBF58476D1CE4E5B9ULL;
    hash ^= hash >> 31;
    const uint64_t mixed = left ^ (hash & mask);
    left = right;
    right = mixed;
  }
  return left << half_bits_ | right;
}

int64_t ShuffledRange::at(int64_t i) const {
  S2S_ASSERT(i >= 0 && i < size_, "the caller knows the size");
  auto value = static_cast<uint64_t>(i);
  do {
    value = encrypt(value);
  } while (value >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(value);
}

}  // namespace s2s::data

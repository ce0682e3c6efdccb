#include "stream/numpy_random.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "s2s/error.h"
#include "stream/packed_text.h"
#include "stream/stream_errors.h"

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

size_t found(const std::vector<double>& sums, double value) {
  return static_cast<size_t>(std::upper_bound(sums.begin(), sums.end(), value) - sums.begin());
}

// numpy.random.SeedSequence(entropy).generate_state(8), 32-bit words.
class SeedSequence {
 public:
  explicit SeedSequence(uint64_t entropy) {
    const std::array<uint32_t, 4> words = {static_cast<uint32_t>(entropy),
                                           static_cast<uint32_t>(entropy >> 32), 0, 0};
    for (size_t i = 0; i < pool_.size(); ++i) pool_[i] = hashed(words[i]);
    for (size_t from = 0; from < pool_.size(); ++from) {
      for (size_t to = 0; to < pool_.size(); ++to) {
        if (from != to) pool_[to] = mixed(pool_[to], hashed(pool_[from]));
      }
    }
  }

  std::array<uint32_t, 8> words() const {
    std::array<uint32_t, 8> words{};
    uint32_t constant = 0x8b51f9ddU;
    for (size_t i = 0; i < words.size(); ++i) {
      uint32_t value = pool_[i % pool_.size()] ^ constant;
      constant *= 0x58f38dedU;
      value *= constant;
      words[i] = value ^ (value >> 16);
    }
    return words;
  }

 private:
  uint32_t hashed(uint32_t value) {
    value ^= constant_;
    constant_ *= 0x931e8875U;
    value *= constant_;
    return value ^ (value >> 16);
  }
  static uint32_t mixed(uint32_t a, uint32_t b) {
    const uint32_t value = a * 0xca01f9ddU - b * 0x4973f715U;
    return value ^ (value >> 16);
  }
  std::array<uint32_t, 4> pool_{};
  uint32_t constant_ = 0x43b0d7e5U;
};

constexpr UInt128 joined(uint64_t high, uint64_t low) {
  return (static_cast<UInt128>(high) << 64) | low;
}

constexpr UInt128 kPcgFactor = joined(2549297995355413924ULL, 4865540595714422341ULL);

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

std::vector<size_t> NumpyRandomState::choice(std::span<const double> probabilities, size_t count,
                                             bool replace) {
  std::vector<size_t> chosen;
  if (replace) {
    const std::vector<double> sums = cumulative(probabilities);
    for (size_t i = 0; i < count; ++i) chosen.push_back(found(sums, random()));
    return chosen;
  }
  std::vector<double> left(probabilities.begin(), probabilities.end());
  while (chosen.size() < count) {
    // A round draws as many as are missing; what was there already is drawn again next round.
    std::vector<double> draws(count - chosen.size());
    for (double& draw : draws) draw = random();
    for (const size_t index : chosen) left[index] = 0;
    const std::vector<double> sums = cumulative(left);
    std::vector<bool> is_new(left.size(), true);
    for (const double draw : draws) {
      const size_t index = found(sums, draw);
      if (is_new[index]) chosen.push_back(index);
      is_new[index] = false;
    }
  }
  return chosen;
}

std::vector<size_t> NumpyRandomState::permutation(size_t n) {
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = n; i-- > 1;) {
    std::swap(order[i], order[static_cast<size_t>(randint(0, static_cast<int64_t>(i) + 1))]);
  }
  return order;
}

void NumpyGenerator::seed(uint64_t seed) {
  const std::array<uint32_t, 8> words = SeedSequence(seed).words();
  const auto word = [&](size_t i) {
    return words[2 * i] | (static_cast<uint64_t>(words[2 * i + 1]) << 32);
  };
  increment_ = (joined(word(2), word(3)) << 1) | 1;
  state_ = increment_ + joined(word(0), word(1));
  state_ = state_ * kPcgFactor + increment_;
}

uint64_t NumpyGenerator::next_word() {
  state_ = state_ * kPcgFactor + increment_;
  const auto high = static_cast<uint64_t>(state_ >> 64);
  return std::rotr(high ^ static_cast<uint64_t>(state_), static_cast<int>(high >> 58));
}

size_t NumpyGenerator::choice(std::span<const double> probabilities) {
  return found(cumulative(probabilities), random());
}

std::string NumpyGenerator::state() const {
  PackedWriter writer;
  for (const UInt128 number : {state_, increment_}) {
    for (int shift = 0; shift < 128; shift += 32) {
      writer.add_word(static_cast<uint32_t>(number >> shift));
    }
  }
  return writer.text();
}

void NumpyGenerator::restore(std::string_view state) {
  PackedReader reader(state);
  for (UInt128* number : {&state_, &increment_}) {
    *number = 0;
    for (int shift = 0; shift < 128; shift += 32) {
      *number |= static_cast<UInt128>(reader.next_word()) << shift;
    }
  }
}

}  // namespace s2s::data

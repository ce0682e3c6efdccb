#include "streams/python_random.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "s2s/error.h"
#include "streams/packed_text.h"
#include "streams/stream_errors.h"

namespace s2s::data {

std::vector<double> running_sums(std::span<const double> weights) {
  std::vector<double> sums(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums.begin());
  return sums;
}

void MersenneTwister::seed(uint32_t seed) {
  words_[0] = seed;
  for (uint32_t i = 1; i < kNumWords; ++i) {
    words_[i] = 1812433253U * (words_[i - 1] ^ (words_[i - 1] >> 30)) + i;
  }
  position_ = kNumWords;
}

void MersenneTwister::seed(std::span<const uint32_t> key) {
  seed(19650218U);
  size_t i = 1;
  const auto step_on = [&] {
    if (++i < kNumWords) return;
    words_[0] = words_[kNumWords - 1];
    i = 1;
  };
  const auto mixed = [&](uint32_t factor) {
    return words_[i] ^ ((words_[i - 1] ^ (words_[i - 1] >> 30)) * factor);
  };
  size_t j = 0;
  for (size_t left = std::max(kNumWords, key.size()); left > 0; --left) {
    words_[i] = mixed(1664525U) + key[j] + static_cast<uint32_t>(j);
    step_on();
    if (++j == key.size()) j = 0;
  }
  for (size_t left = kNumWords - 1; left > 0; --left) {
    words_[i] = mixed(1566083941U) - static_cast<uint32_t>(i);
    step_on();
  }
  words_[0] = 0x80000000U;
  position_ = kNumWords;
}

void MersenneTwister::refill() {
  constexpr size_t kMiddle = 397;
  for (size_t i = 0; i < kNumWords; ++i) {
    const uint32_t joined = (words_[i] & 0x80000000U) | (words_[(i + 1) % kNumWords] & 0x7fffffffU);
    words_[i] = words_[(i + kMiddle) % kNumWords] ^ (joined >> 1) ^ ((joined & 1U) * 0x9908b0dfU);
  }
  position_ = 0;
}

uint32_t MersenneTwister::next_word() {
  if (position_ == kNumWords) refill();
  uint32_t word = words_[position_++];
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680U;
  word ^= (word << 15) & 0xefc60000U;
  return word ^ (word >> 18);
}

double MersenneTwister::next_double() {
  const uint32_t high = next_word() >> 5;
  const uint32_t low = next_word() >> 6;
  return (high * 67108864.0 + low) * (1.0 / 9007199254740992.0);
}

std::string MersenneTwister::state() const {
  PackedWriter writer;
  writer.add(static_cast<int64_t>(position_));
  for (const uint32_t word : words_) writer.add_word(word);
  return writer.text();
}

void MersenneTwister::restore(std::string_view state) {
  PackedReader reader(state);
  const int64_t position = reader.next();
  if (position < 0 || position > static_cast<int64_t>(kNumWords)) {
    throw stream_errors::damaged_state("the position in the block of random numbers is wrong");
  }
  position_ = static_cast<size_t>(position);
  for (uint32_t& word : words_) word = reader.next_word();
  if (!reader.at_end()) throw stream_errors::damaged_state("random numbers are too long");
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

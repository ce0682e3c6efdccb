#include "streams/mersenne_twister.h"

#include <algorithm>

#include "streams/packed_text.h"
#include "streams/stream_errors.h"

namespace s2s::data {

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
    throw stream_errors::damaged_state("random numbers stand beyond their block");
  }
  position_ = static_cast<size_t>(position);
  for (uint32_t& word : words_) word = reader.next_word();
  if (!reader.at_end()) throw stream_errors::damaged_state("random numbers are too long");
}

}  // namespace s2s::data

#include "base/pcg64.h"

#include <array>
#include <bit>

namespace s2s {
namespace {

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

Pcg64::Pcg64(uint64_t seed) {
  const std::array<uint32_t, 8> words = SeedSequence(seed).words();
  const auto word = [&](size_t i) {
    return words[2 * i] | (static_cast<uint64_t>(words[2 * i + 1]) << 32);
  };
  increment = (joined(word(2), word(3)) << 1) | 1;
  state = increment + joined(word(0), word(1));
  state = state * kPcgFactor + increment;
}

uint64_t Pcg64::next_word() {
  state = state * kPcgFactor + increment;
  const auto high = static_cast<uint64_t>(state >> 64);
  return std::rotr(high ^ static_cast<uint64_t>(state), static_cast<int>(high >> 58));
}

}  // namespace s2s

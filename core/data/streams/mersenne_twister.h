#pragma once
// MT19937 as Python's random and NumPy's legacy generator seed it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace s2s::data {

class MersenneTwister {
 public:
  /// One number, as NumPy seeds.   Source: Matsumoto and Nishimura 2002, init_genrand.
  void seed(uint32_t seed);
  /// Several numbers, as Python seeds.   Source: the same, init_by_array.
  void seed(std::span<const uint32_t> key);

  uint32_t next_word();
  /// In [0, 1), 53 random bits of two words.
  double next_double();

  /// Short text of all that there is to remember.
  std::string state() const;
  /// Errors: [data/position].
  void restore(std::string_view state);

  bool operator==(const MersenneTwister&) const = default;

 private:
  static constexpr size_t kNumWords = 624;
  void refill();
  std::array<uint32_t, kNumWords> words_{};
  size_t position_ = kNumWords;
};

}  // namespace s2s::data

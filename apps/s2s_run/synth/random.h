#pragma once
// A small random number generator with equal results on every machine and for every number of
// workers.

#include <cmath>
#include <cstdint>
#include <vector>

namespace s2s::synth {

/// SplitMix64. Numbers (seed, purpose, index) select a stream. Tasks do not share streams.
class Random {
 public:
  explicit Random(uint64_t seed, uint64_t purpose = 0, uint64_t index = 0)
      : state_(mix(mix(mix(seed) ^ purpose) ^ index)) {}

  uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15ULL); }
  /// In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  bool chance(double probability) { return uniform() < probability; }
  /// In [0, count); count >= 1.
  size_t below(size_t count) { return static_cast<size_t>(next() % count); }
  /// In [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<size_t>(high - low + 1)));
  }
  /// Sum of four uniform numbers: zero mean, unit variance, approximately normal.
  float noise() {
    const uint64_t bits = next();
    int64_t sum = 0;
    for (int shift = 0; shift < 64; shift += 16) {
      sum += static_cast<int64_t>((bits >> shift) & 0xFFFF);
    }
    // Each term has variance 65536^2 / 12; the sum of four has 65536^2 / 3.
    return static_cast<float>((static_cast<double>(sum) - 131070.0) * (1.7320508 / 65536.0));
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

}  // namespace s2s::synth

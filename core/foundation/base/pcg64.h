#pragma once
// NumPy's default_rng with equal bits: PCG64, seeded by SeedSequence.

#include <cstdint>

namespace s2s {

__extension__ typedef unsigned __int128 UInt128;  // NOLINT(modernize-use-using)

/// numpy.random.default_rng(seed).
/// Source: NumPy numpy/random/bit_generator.pyx, src/pcg64/pcg64.h.
class Pcg64 {
 public:
  explicit Pcg64(uint64_t seed = 0);

  uint64_t next_word();
  /// A number in [0, 1).
  double random() { return static_cast<double>(next_word() >> 11) * (1.0 / 9007199254740992.0); }
  double uniform(double low, double high) { return low + (high - low) * random(); }

  UInt128 state = 0;
  UInt128 increment = 0;
};

}  // namespace s2s

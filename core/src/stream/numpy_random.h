#pragma once
// NumPy's random numbers, bit for bit, as far as Lhotse draws with them: the legacy generator
// (weighted draws of cuts, keys of lazy permutations) and default_rng (choice of a sampler, rooms).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stream/mersenne_twister.h"

namespace s2s::data {

__extension__ typedef unsigned __int128 UInt128;  // NOLINT(modernize-use-using)

/// numpy.random.RandomState.   Source: NumPy 1.26 and 2 numpy/random/mtrand.pyx, legacy seeding.
class NumpyRandomState {
 public:
  explicit NumpyRandomState(uint32_t seed = 0) { this->seed(seed); }
  void seed(uint32_t seed) { twister_.seed(seed); }

  /// rand(): in [0, 1).
  double random() { return twister_.next_double(); }
  double uniform(double low, double high) { return low + (high - low) * random(); }
  /// randint(low, high) of 64 bits: in [low, high).
  int64_t randint(int64_t low, int64_t high);
  /// choice(n, count, p=probabilities, replace=...); n is their number, they sum to 1.
  std::vector<size_t> choice(std::span<const double> probabilities, size_t count, bool replace);
  /// shuffle(range(n)).
  std::vector<size_t> permutation(size_t n);

  std::string state() const { return twister_.state(); }
  /// Errors: [data/position].
  void restore(std::string_view state) { twister_.restore(state); }

 private:
  MersenneTwister twister_;
};

/// numpy.random.default_rng(seed): PCG64 seeded by SeedSequence.
/// Source: NumPy numpy/random/bit_generator.pyx, src/pcg64/pcg64.h.
class NumpyGenerator {
 public:
  explicit NumpyGenerator(uint64_t seed = 0) { this->seed(seed); }
  void seed(uint64_t seed);

  uint64_t next_word();
  /// In [0, 1).
  double random() { return static_cast<double>(next_word() >> 11) * (1.0 / 9007199254740992.0); }
  double uniform(double low, double high) { return low + (high - low) * random(); }
  /// choice(n, size=1, p=probabilities)[0].
  size_t choice(std::span<const double> probabilities);

  std::string state() const;
  /// Errors: [data/position].
  void restore(std::string_view state);

 private:
  UInt128 state_ = 0;
  UInt128 increment_ = 0;
};

}  // namespace s2s::data

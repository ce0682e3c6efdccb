#pragma once
// The part of NumPy's default_rng that Lhotse uses, with equal bits.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/pcg64.h"

namespace s2s::data {

/// numpy.random.default_rng(seed).
class NumpyGenerator {
 public:
  explicit NumpyGenerator(uint64_t seed = 0) : generator_(seed) {}
  void seed(uint64_t seed) { generator_ = Pcg64(seed); }

  uint64_t next_word() { return generator_.next_word(); }
  /// In [0, 1).
  double random() { return generator_.random(); }
  double uniform(double low, double high) { return generator_.uniform(low, high); }
  /// choice(n, size=1, p=probabilities)[0].
  size_t choice(std::span<const double> probabilities);

  std::string state() const;
  /// Errors: [data/position].
  void restore(std::string_view state);

 private:
  Pcg64 generator_;
};

}  // namespace s2s::data

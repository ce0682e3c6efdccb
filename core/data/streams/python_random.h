#pragma once
// The part of Python's random.Random that Lhotse and NeMo use, with equal bits.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace s2s::data {

/// Running sums of weights, as `choices` takes them in `cum_weights`.
std::vector<double> running_sums(std::span<const double> weights);

/// MT19937.
class MersenneTwister {
 public:
  /// Seeds as Python does.   Source: Matsumoto and Nishimura 2002, init_by_array.
  void seed(std::span<const uint32_t> key);

  uint32_t next_word();
  /// A number in [0, 1) with 53 random bits of two words.
  double next_double();

  /// The generator's state as short text.
  std::string state() const;
  /// Errors: [data/position].
  void restore(std::string_view state);

  bool operator==(const MersenneTwister&) const = default;

 private:
  static constexpr size_t kNumWords = 624;
  /// Source: Matsumoto and Nishimura 2002, init_genrand.
  void seed(uint32_t seed);
  void refill();
  std::array<uint32_t, kNumWords> words_{};
  size_t position_ = kNumWords;
};

/// Each function returns the value of Python's function of that name and draws as many words.
/// Source: CPython 3.11 Lib/random.py, Modules/_randommodule.c.
class PythonRandom {
 public:
  /// random.Random(seed) of an integer; its sign has no effect.
  explicit PythonRandom(int64_t seed = 0) { this->seed(seed); }
  void seed(int64_t seed);

  /// In [0, 1).
  double random() { return twister_.next_double(); }
  /// `num_bits` is 0 to 64.
  uint64_t getrandbits(int num_bits);
  /// A number in [0, n), n > 0.
  uint64_t randbelow(uint64_t n);
  /// One of start, start + step, ... below stop; the range is not empty.
  int64_t randrange(int64_t start, int64_t stop, int64_t step = 1);
  int64_t randrange(int64_t stop) { return randrange(0, stop); }
  /// A number in [low, high].
  int64_t randint(int64_t low, int64_t high) { return randrange(low, high + 1); }
  double uniform(double low, double high) { return low + (high - low) * random(); }
  /// Index that `choice(seq)` takes of a sequence of `size` > 0.
  size_t choice(size_t size) { return static_cast<size_t>(randbelow(size)); }
  /// Index that `choices(range(size), k=1)` takes.
  size_t choices(size_t size);
  /// Index that `choices(seq, cum_weights=sums, k=1)` takes.
  /// Errors: [data/empty-draw] when the last sum is not above 0.
  size_t choices(std::span<const double> sums);

  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i-- > 1;) {
      std::swap(items[i], items[static_cast<size_t>(randbelow(i + 1))]);
    }
  }

  std::string state() const { return twister_.state(); }
  /// Errors: [data/position].
  void restore(std::string_view state) { twister_.restore(state); }

  bool operator==(const PythonRandom&) const = default;

 private:
  MersenneTwister twister_;
};

}  // namespace s2s::data

#pragma once
// A permutation of 0 .. n - 1 that needs no memory.

#include <array>
#include <cstdint>

namespace s2s::data {

/// Source: lhotse 2 indexing.py LazyShuffledRange (a Feistel network with cycle walking whose keys
/// are NumPy's RandomState(seed)).
class ShuffledRange {
 public:
  ShuffledRange(int64_t size, int64_t seed);
  int64_t size() const { return size_; }
  /// Item `i` of the permutation.
  int64_t at(int64_t i) const;

 private:
  uint64_t encrypt(uint64_t value) const;

  static constexpr size_t kRounds = 6;
  int64_t size_;
  int half_bits_ = 1;
  std::array<uint64_t, kRounds> keys_ = {};
};

}  // namespace s2s::data

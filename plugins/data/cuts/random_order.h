#pragma once
// Random numbers that are the same with every standard library.

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace s2s::cuts {

/// splitmix64's output function: neighbouring numbers become unrelated ones.
constexpr uint64_t mix_bits(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Even over [0, bound).
inline uint64_t random_below(uint64_t bound, std::mt19937_64& random) {
  const uint64_t surplus = (std::mt19937_64::max() % bound + 1) % bound;
  uint64_t drawn = random();
  while (drawn > std::mt19937_64::max() - surplus) drawn = random();
  return drawn % bound;
}

template <class T>
void shuffle_items(std::vector<T>& items, std::mt19937_64& random) {
  for (size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[static_cast<size_t>(random_below(i, random))]);
  }
}

}  // namespace s2s::cuts

#include "row_draws.h"

#include <ATen/ATen.h>

namespace s2s::codec {
namespace {

/// FNV-1a: the same on every machine.
uint64_t hash_of_id(const std::string& id) {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

/// Source: SplitMix64 (Steele, Lea, Flood 2014), one step.
uint64_t stirred(uint64_t seed, uint64_t value) {
  uint64_t z = seed + 0x9E3779B97F4A7C15ULL * (value + 1);
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

constexpr double kTwoTo53 = 9007199254740992.0;  // numbers that a double counts exactly

}  // namespace

at::Tensor uniform_of_rows(const std::vector<std::string>& ids, int64_t rows, int64_t step,
                           uint64_t purpose) {
  std::vector<double> numbers;
  for (int64_t row = 0; row < rows; ++row) {
    const auto place = static_cast<size_t>(row);
    const std::string id = place < ids.size() ? ids[place] : "row " + std::to_string(row);
    const uint64_t bits = stirred(stirred(hash_of_id(id), static_cast<uint64_t>(step)), purpose);
    numbers.push_back(static_cast<double>(bits >> 11U) / kTwoTo53);
  }
  return at::tensor(numbers, at::kDouble);
}

}  // namespace s2s::codec

#pragma once

#include <cstdint>
#include <string_view>

namespace s2s {

constexpr uint64_t kFnvStart = 14695981039346656037ULL;

/// Returns the FNV-1a hash with 64 bits, which is the same on every platform. `start` is kFnvStart,
/// maybe mixed with a seed.
constexpr uint64_t fnv1a(std::string_view text, uint64_t start = kFnvStart) {
  uint64_t hash = start;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

}  // namespace s2s

#pragma once

#include <cstdint>
#include <string_view>

namespace s2s {

constexpr uint64_t kFnvStart = 14695981039346656037ULL;

/// FNV-1a, 64 bits: the same number on every platform. start: kFnvStart, or mixed with a seed.
constexpr uint64_t fnv1a(std::string_view text, uint64_t start = kFnvStart) {
  uint64_t hash = start;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

}  // namespace s2s

#pragma once
// How much memory a part of a configuration takes: files of others may ask for copies.

#include <cstddef>

#include "s2s/config.h"

namespace s2s {

/// About the memory of a copy, in bytes.
inline size_t num_bytes(const Config& node) {
  constexpr size_t kNodeBytes = 128;
  size_t bytes = kNodeBytes + node.text().size();
  for (const Config& item : node.items()) bytes += num_bytes(item);
  for (const auto& [key, child] : node.entries()) bytes += key.size() + num_bytes(child);
  return bytes;
}

}  // namespace s2s

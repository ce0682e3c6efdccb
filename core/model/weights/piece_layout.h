#pragma once
// Checks that the pieces of a tensor in several files do not overlap.

#include <cstdint>
#include <vector>

#include "base/reading_budget.h"

namespace s2s {

/// The elements begin .. begin + size - 1 in each dim.
struct PieceBox {
  const std::vector<int64_t>* begin;
  const std::vector<int64_t>* size;
};

/// Returns true when no two boxes have elements in common. All have the same number of dims, and
/// their ends fit in 63 bits. Takes n log n steps for boxes that planes separate, which is what
/// sharding by dims makes. Other arrangements of more than a few boxes count as overlapping.
/// Errors: those of `budget`.
bool are_separate(std::vector<PieceBox> boxes, ReadingBudget& budget);

}  // namespace s2s

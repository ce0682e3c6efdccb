#include "weights/piece_layout.h"

#include <algorithm>
#include <span>

namespace s2s {
namespace {

using Boxes = std::span<PieceBox>;

/// So few are compared with each other.
constexpr size_t kFewBoxes = 32;
/// Planes within planes; a sharding has one level for each dim that it divides.
constexpr int kMaxLevels = 16;

int64_t begin_of(const PieceBox& box, size_t dim) { return (*box.begin)[dim]; }
int64_t end_of(const PieceBox& box, size_t dim) { return (*box.begin)[dim] + (*box.size)[dim]; }

bool overlap(const PieceBox& a, const PieceBox& b) {
  for (size_t dim = 0; dim < a.begin->size(); ++dim) {
    if (end_of(a, dim) <= begin_of(b, dim) || end_of(b, dim) <= begin_of(a, dim)) return false;
  }
  return true;
}

bool are_few_separate(Boxes boxes) {
  for (size_t i = 1; i < boxes.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (overlap(boxes[i], boxes[j])) return false;
    }
  }
  return true;
}

/// Sorts along a dim. Returns where each group begins that a plane separates from those before.
std::vector<size_t> groups_along(Boxes boxes, size_t dim) {
  std::sort(boxes.begin(), boxes.end(), [dim](const PieceBox& a, const PieceBox& b) {
    return begin_of(a, dim) < begin_of(b, dim);
  });
  std::vector<size_t> begins = {0};
  int64_t end = end_of(boxes[0], dim);
  for (size_t i = 1; i < boxes.size(); ++i) {
    if (begin_of(boxes[i], dim) >= end) begins.push_back(i);
    end = std::max(end, end_of(boxes[i], dim));
  }
  return begins;
}

bool are_separate_within(Boxes boxes, int level, ReadingBudget& budget) {
  if (boxes.size() <= kFewBoxes) {
    budget.take_values(boxes.size());
    return are_few_separate(boxes);
  }
  if (level == kMaxLevels) return false;
  for (size_t dim = 0; dim < boxes[0].begin->size(); ++dim) {
    budget.take_values(boxes.size());
    std::vector<size_t> begins = groups_along(boxes, dim);
    if (begins.size() == 1) continue;
    begins.push_back(boxes.size());
    for (size_t i = 0; i + 1 < begins.size(); ++i) {
      const Boxes group = boxes.subspan(begins[i], begins[i + 1] - begins[i]);
      if (!are_separate_within(group, level + 1, budget)) return false;
    }
    return true;
  }
  return false;
}

}  // namespace

bool are_separate(std::vector<PieceBox> boxes, ReadingBudget& budget) {
  std::erase_if(boxes, [](const PieceBox& box) {
    return std::find(box.size->begin(), box.size->end(), 0) != box.size->end();
  });
  return are_separate_within(boxes, 0, budget);
}

}  // namespace s2s

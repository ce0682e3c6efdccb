#include "engine/flat_layout.h"

#include <algorithm>

namespace s2s {
namespace {

constexpr int64_t kAlignment = 32;  // elements: 64 bytes of 16-bit ones

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

}  // namespace

FlatLayout::FlatLayout(std::vector<int64_t> numels, int64_t num_ranks)
    : numels_(std::move(numels)), num_ranks_(num_ranks) {
  int64_t end = 0;
  for (const int64_t numel : numels_) {
    begins_.push_back(end);
    end = round_up(end + numel, kAlignment);
  }
  part_ = round_up((end + num_ranks - 1) / num_ranks, kAlignment);
}

FlatRange FlatLayout::held(size_t i, int64_t rank) const {
  const int64_t begin = std::max(begins_[i], rank * part_);
  const int64_t end = std::min(begins_[i] + numels_[i], (rank + 1) * part_);
  if (begin >= end) return {0, 0};
  return {begin - begins_[i], end - begin};
}

int64_t FlatLayout::place_in_part(size_t i, int64_t rank) const {
  const FlatRange range = held(i, rank);
  return range.count == 0 ? 0 : begins_[i] + range.begin - rank * part_;
}

std::vector<FlatRange> FlatLayout::gaps() const {
  std::vector<FlatRange> gaps;
  int64_t end = 0;
  for (size_t i = 0; i <= numels_.size(); ++i) {
    const int64_t next = i < numels_.size() ? begins_[i] : total_numel();
    if (next > end) gaps.push_back({end, next - end});
    if (i < numels_.size()) end = begins_[i] + numels_[i];
  }
  return gaps;
}

}  // namespace s2s

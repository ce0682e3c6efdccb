#pragma once
// How parameters lie one after the other in a flat tensor that ranks hold equal parts of.

#include <cstdint>
#include <vector>

namespace s2s {

/// Elements [begin, begin + count) of something.
struct FlatRange {
  int64_t begin = 0;
  int64_t count = 0;
};

class FlatLayout {
 public:
  /// numels: elements of each parameter. Parameters begin at multiples of 32 elements, and the
  /// whole is padded so that `num_ranks` equal parts make it up.
  FlatLayout(std::vector<int64_t> numels, int64_t num_ranks);

  int64_t numel(size_t i) const { return numels_[i]; }
  int64_t begin(size_t i) const { return begins_[i]; }
  /// Elements of a rank's part; of all parts.
  int64_t part_numel() const { return part_; }
  int64_t total_numel() const { return part_ * num_ranks_; }
  /// What a rank holds of parameter i, counted within the parameter; it may be nothing.
  FlatRange held(size_t i, int64_t rank) const;
  /// Where that lies in the rank's part.
  int64_t place_in_part(size_t i, int64_t rank) const;
  /// The elements of the flat tensor that belong to no parameter.
  std::vector<FlatRange> gaps() const;

 private:
  std::vector<int64_t> numels_, begins_;
  int64_t num_ranks_;
  int64_t part_ = 0;
};

}  // namespace s2s

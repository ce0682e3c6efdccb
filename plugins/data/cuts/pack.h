#pragma once
// Several cuts one after the other in one sequence, on the frame grid.

#include <cstdint>
#include <random>
#include <vector>

#include "s2s/duplex_data.h"

namespace s2s::cuts {

struct PackRule {
  int64_t max_frames = 0;
  int64_t min_gap_frames = 0;
  int64_t max_gap_frames = 0;
  int64_t open_sequences = 16;
  double frame_length_s = 0.08;
};

/// Frames that a cut occupies: whole, none of its audio is lost.
int64_t frames_of(const Cut& cut, double frame_length_s);

/// Packs `cuts` in their order: each goes into the open sequence that it fills best, or opens one;
/// when too many are open, the fullest is done. A cut longer than a sequence stands alone.
std::vector<CutSequence> pack(const std::vector<const Cut*>& cuts, const PackRule& rule,
                              std::mt19937_64& random);

}  // namespace s2s::cuts

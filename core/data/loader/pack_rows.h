#pragma once
// Several cuts one after the other in one row, on the frame grid (`concatenate`).

#include <cstdint>
#include <vector>

#include "loader/cut_batches.h"
#include "streams/combinators.h"

namespace s2s::data {

struct PackRule {
  int64_t max_frames = 0;
  int64_t min_gap_frames = 0;
  int64_t max_gap_frames = 0;
  int64_t open_sequences = 16;
  double frame_length_s = 0.08;
  int64_t seed = 0;
};

/// Frames that a cut occupies: whole, none of its audio is lost.
int64_t frames_of(double duration_s, double frame_length_s);

/// Rows of the source's cuts, in their order: each cut goes into the open row that it fills best,
/// or opens one; when too many are open, the fullest is done. A cut longer than a row stands alone.
/// A row is a mixed cut of its parts; its id names them and their frames, "first@0+second@62".
/// Key: frames, number of parts, and of each its first frame and its length and key.
StreamPtr pack(StreamPtr source, const PackRule& rule);

/// The parts of a row that `pack` made. `cut` may be null.
BatchRow packed_row(CutKeyView key, const CutPtr& cut);

}  // namespace s2s::data

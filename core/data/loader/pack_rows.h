#pragma once
// Packs several cuts into one row, one after the other on the frame grid (`concatenate`).

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

/// Number of frames that a cut occupies, rounded up so that no audio is lost.
int64_t frames_of(double duration_s, double frame_length_s);

/// Packs the source's cuts in their order. Each cut is added to the open row that it fills best, or
/// it opens a new row. When too many rows are open, the fullest one is complete. A cut longer than
/// a row gets its own row.
/// A row is a mixed cut of its parts. Its id names the parts and their first frames:
/// "first@0+second@62".
/// Key: frames of the row, number of parts, for each part its first frame, the length of its key
/// and its key.
StreamPtr pack(StreamPtr source, const PackRule& rule);

/// Returns the parts of a row that `pack` made. `cut` may be null.
BatchRow packed_row(CutKeyView key, const CutPtr& cut);

}  // namespace s2s::data

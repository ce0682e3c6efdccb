#pragma once
// Joins cuts of a batch to longer ones.

#include <optional>

#include "samplers/samplers.h"

namespace s2s::data {

struct JoinOptions {
  double gap_s = 0.1;
  double duration_factor = 1;      // longest row, as a multiple of the longest cut
  std::optional<double> db_norm;   // loudness that each part gets
  bool merge_supervisions = true;  // one turn for the whole row
};

/// Appends the shortest cuts of a batch to the longest ones that have room.
/// Key: number of parts, then length and key of each part.
/// Source: lhotse CutConcatenate; NeMo _normalize_loudness, _merge_supervisions.
SamplerPtr join_cuts(SamplerPtr source, const JoinOptions& options);

}  // namespace s2s::data

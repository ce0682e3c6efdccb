#pragma once
// Cuts of a batch joined to longer ones.

#include <optional>

#include "samplers/samplers.h"

namespace s2s::data {

struct JoinOptions {
  double gap_s = 0.1;
  double duration_factor = 1;      // of the longest cut: the longest row
  std::optional<double> db_norm;   // loudness of each part
  bool merge_supervisions = true;  // one turn for all of a row
};

/// The shortest cuts behind the longest that have room. Key: number of parts, of each its length
/// and key.   Source: lhotse CutConcatenate; NeMo _normalize_loudness, _merge_supervisions.
SamplerPtr join_cuts(SamplerPtr source, const JoinOptions& options);

}  // namespace s2s::data

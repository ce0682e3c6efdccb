#pragma once
// Estimates bounds of buckets in two dimensions: seconds and tokens.

#include <cstdint>
#include <optional>
#include <vector>

#include "samplers/buckets.h"

namespace s2s::data {

struct Bins2dOptions {
  int64_t num_buckets = 30;
  int64_t num_sub_buckets = 2;  // buckets by tokens within each bucket by seconds
  /// Cuts are left out whose tokens per second exceed the mean of their bucket by more than this
  /// number of standard deviations.
  double outlier_threshold = 4;
  std::optional<double> max_length;  // the last bound; nothing: the longest cut
};

/// Estimates bounds of seconds and tokens, and for each bucket the maximum number of tokens per
/// second of its cuts without outliers (`max_ratio`). The arithmetic is NeMo's: for example single
/// precision for seconds, and pairwise sums. `sizes` holds all cuts, in any order.
/// Errors: [data/too-few-cuts].
/// Source: NeMo scripts/speech_recognition/estimate_duration_bins_2d.py.
Bins estimate_bins_2d(const std::vector<CutSize>& sizes, const Bins2dOptions& options);

}  // namespace s2s::data

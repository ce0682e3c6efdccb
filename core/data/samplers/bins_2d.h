#pragma once
// Bounds of buckets in two dimensions, estimated: seconds and tokens.

#include <cstdint>
#include <optional>
#include <vector>

#include "samplers/buckets.h"

namespace s2s::data {

struct Bins2dOptions {
  int64_t num_buckets = 30;
  int64_t num_sub_buckets = 2;  // of tokens in each
  /// Cuts with more tokens per second than so many standard deviations above the mean of their
  /// bucket are left out.
  double outlier_threshold = 4;
  std::optional<double> max_length;  // the last bound; nothing: the longest
};

/// Bounds of seconds and tokens and, for each, the most tokens per second that was not left out
/// (`max_ratio`). The numbers are NeMo's: single precision for seconds, its sums in pairs, ...
/// `sizes`: of all cuts, in any order.
/// Errors: [data/too-few-cuts].
/// Source: NeMo scripts/speech_recognition/estimate_duration_bins_2d.py.
Bins estimate_bins_2d(const std::vector<CutSize>& sizes, const Bins2dOptions& options);

}  // namespace s2s::data

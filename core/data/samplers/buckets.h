#pragma once
// Buckets of cuts of similar length, in one dimension (seconds) or two (seconds and tokens).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "s2s/data/cuts.h"

namespace s2s::data {

/// The size of a cut as samplers compare and add it.
struct CutSize {
  double length = 0;       // seconds, or the unit of another measure
  int64_t num_tokens = 0;  // for two dimensions
};

using CutMeasure = std::function<CutSize(const Cut&)>;

/// Upper bounds of buckets, ascending.
struct Bins {
  std::vector<double> lengths;
  std::vector<int64_t> num_tokens;  // for two dimensions, one for each length; else empty
  /// In two dimensions, allows only buckets of the smallest length that fits; else any that fits.
  bool is_strict = true;
  /// For strict bins, maximum tokens per unit of length in each bucket; empty: no limit.
  std::vector<double> max_ratio;

  bool empty() const { return lengths.empty(); }
  bool is_2d() const { return !num_tokens.empty(); }
};

/// Batch size of each bucket (lhotse's FixedBucketBatchSizeConstraint, NeMo's ...2D).
struct FixedBatchSizes {
  std::vector<int64_t> sizes;
};

/// Returns a cut's bucket. In one dimension it is the first whose bound is at least the length, or
/// `bins.lengths.size()` if the cut exceeds all bounds. In two dimensions it is nothing if the cut
/// fits no bucket.
std::optional<size_t> find_bucket(const Bins& bins, const CutSize& size);

/// Whether a cut fits one of the buckets (NeMo's BucketingFilter).
bool fits_bucket(const Bins& bins, const CutSize& size);

/// Checks that bins, batch sizes and ratios fit together.   Errors: [data/bins].
void check_bins(const Bins& bins, std::optional<size_t> num_batch_sizes);

/// Estimates the bounds of `num_buckets` buckets of equal total length. Returns at most num_buckets
/// - 1 lengths.
/// Errors: [data/too-few-cuts] when there are fewer lengths than buckets.
/// Source: lhotse dataset/sampling/dynamic_bucketing.py estimate_duration_buckets.
std::vector<double> estimate_bins(std::vector<double> lengths, int64_t num_buckets);

}  // namespace s2s::data

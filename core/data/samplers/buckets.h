#pragma once
// Buckets of cuts of like length, in one dimension (seconds) or two (seconds and tokens).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "s2s/data/cuts.h"

namespace s2s::data {

/// What samplers compare and add up.
struct CutSize {
  double length = 0;       // seconds, or what else a measure counts
  int64_t num_tokens = 0;  // for two dimensions
};

using CutMeasure = std::function<CutSize(const Cut&)>;

/// Upper bounds of buckets, ascending.
struct Bins {
  std::vector<double> lengths;
  std::vector<int64_t> num_tokens;  // for two dimensions, beside each length; else empty
  /// Two dimensions: only buckets of the smallest length that fits; else any that fits.
  bool is_strict = true;
  std::vector<double> max_ratio;  // strict: most tokens per length in each bucket; empty: any

  bool empty() const { return lengths.empty(); }
  bool is_2d() const { return !num_tokens.empty(); }
};

/// Batch size of each bucket (lhotse's FixedBucketBatchSizeConstraint, NeMo's ...2D).
struct FixedBatchSizes {
  std::vector<int64_t> sizes;
};

/// The bucket: of one dimension the first whose bound is not below the length,
/// `bins.lengths.size()` beyond the last; of two, nothing when the cut fits none.
std::optional<size_t> find_bucket(const Bins& bins, const CutSize& size);

/// Whether a cut fits a bucket with a bound (NeMo's BucketingFilter).
bool fits_bucket(const Bins& bins, const CutSize& size);

/// Findings about bins, batch sizes and ratios that do not belong together.   Errors: [data/bins].
void check_bins(const Bins& bins, std::optional<size_t> num_batch_sizes);

/// Bounds of `num_buckets` buckets of equal total length: at most num_buckets - 1 lengths.
/// Errors: [data/too-few-cuts] when there are fewer lengths than buckets.
/// Source: lhotse dataset/sampling/dynamic_bucketing.py estimate_duration_buckets.
std::vector<double> estimate_bins(std::vector<double> lengths, int64_t num_buckets);

}  // namespace s2s::data

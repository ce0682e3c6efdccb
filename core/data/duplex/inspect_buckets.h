#pragma once
// How buckets of duration would be filled, and how much of their batches would be padding.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "samplers/batch_count.h"
#include "samplers/samplers.h"

namespace s2s::data {

struct BucketOptions {
  std::vector<double> bins;  // upper bounds; empty: estimated from the first cuts
  int64_t num_buckets = 10;  // when they are
  int64_t num_cuts_for_bins = 10000;
  BatchLimits limits;                // of a batch
  std::vector<int64_t> batch_sizes;  // of each bucket, in place of `limits`
};

struct BucketLine {
  double upper_s = 0;  // of the last bucket: the longest cut, or the last bound
  int64_t cuts = 0;
  double hours = 0;
  int64_t batches = 0;
  double padded_hours = 0;  // batches as rectangles
};

struct BucketReport {
  std::vector<double> bins;
  bool are_estimated = false;
  std::vector<BucketLine> lines;  // one more than bins; empty without cuts
  /// Padding of all batches: 1 - hours / padded hours.
  double padding_share() const;
  /// The same if cuts came into batches as they come, without buckets.
  double unsorted_padding_share = 0;
};

/// Batches are filled in the order of the cuts.
class BucketInspector {
 public:
  explicit BucketInspector(BucketOptions options);
  void add(double duration_s);
  /// Counts batches that are not full, too.
  BucketReport report() const;

 private:
  /// Cuts that are in one batch.
  struct Open {
    explicit Open(const BatchLimits& limits) : count(limits) {}
    BatchCount count;
    double longest_s = 0;
  };
  struct Bucket {
    BucketLine line;
    std::shared_ptr<const BatchLimits> limits;  // a count refers to it
    std::optional<Open> open;
  };
  void begin();
  void add_to(Bucket& bucket, double duration_s) const;
  static void close(Bucket& bucket);

  BucketOptions options_;
  std::vector<double> first_;  // cuts that wait until bins are known
  bool has_bins_;              // given
  bool has_begun_ = false;
  std::vector<Bucket> buckets_;
  Bucket unsorted_;
};

}  // namespace s2s::data

#include "duplex/inspect_buckets.h"

#include <algorithm>
#include <utility>

namespace s2s::data {

double BucketReport::padding_share() const {
  double hours = 0;
  double padded = 0;
  for (const BucketLine& line : lines) {
    hours += line.hours;
    padded += line.padded_hours;
  }
  return padded > 0 ? 1 - hours / padded : 0;
}

BucketInspector::BucketInspector(BucketOptions options)
    : options_(std::move(options)), has_bins_(!options_.bins.empty()) {
  BatchLimits limits = options_.limits;
  if (!options_.batch_sizes.empty()) limits.max_cuts = options_.batch_sizes.back();
  unsorted_.limits = std::make_shared<const BatchLimits>(limits);
}

void BucketInspector::begin() {
  has_begun_ = true;
  if (options_.bins.empty() && !first_.empty()) {
    const auto buckets = std::min<int64_t>(options_.num_buckets, std::ssize(first_));
    if (buckets > 1) options_.bins = estimate_bins(first_, buckets);
  }
  buckets_.resize(options_.bins.size() + 1);
  for (size_t i = 0; i < buckets_.size(); ++i) {
    Bucket& bucket = buckets_[i];
    BatchLimits limits = options_.limits;
    if (!options_.batch_sizes.empty()) {
      limits = {};
      limits.max_cuts = options_.batch_sizes[std::min(i, options_.batch_sizes.size() - 1)];
    }
    bucket.limits = std::make_shared<const BatchLimits>(limits);
    if (!options_.bins.empty()) {
      bucket.line.upper_s = options_.bins[std::min(i, options_.bins.size() - 1)];
    }
  }
  for (const double duration_s : std::exchange(first_, {})) add(duration_s);
}

void BucketInspector::add(double duration_s) {
  if (!has_begun_ && options_.bins.empty() && std::ssize(first_) < options_.num_cuts_for_bins) {
    first_.push_back(duration_s);
    return;
  }
  if (!has_begun_) begin();
  const auto bound = std::lower_bound(options_.bins.begin(), options_.bins.end(), duration_s);
  add_to(buckets_[static_cast<size_t>(bound - options_.bins.begin())], duration_s);
  add_to(unsorted_, duration_s);
}

void BucketInspector::close(Bucket& bucket) {
  if (!bucket.open) return;
  ++bucket.line.batches;
  bucket.line.padded_hours +=
      static_cast<double>(bucket.open->count.num_cuts()) * bucket.open->longest_s / 3600;
  bucket.open.reset();
}

/// A batch ends before the cut that would exceed its limits, as lhotse's samplers decide.
void BucketInspector::add_to(Bucket& bucket, double duration_s) const {
  BucketLine& line = bucket.line;
  ++line.cuts;
  line.hours += duration_s / 3600;
  line.upper_s = std::max(line.upper_s, duration_s);
  if (bucket.open) {
    BatchCount with_it = bucket.open->count;
    with_it.add(duration_s);
    if (with_it.exceeded()) close(bucket);
  }
  if (!bucket.open) bucket.open.emplace(*bucket.limits);
  bucket.open->count.add(duration_s);
  bucket.open->longest_s = std::max(bucket.open->longest_s, duration_s);
  if (bucket.open->count.close_to_exceeding()) close(bucket);
}

BucketReport BucketInspector::report() const {
  BucketInspector copy = *this;
  if (!copy.has_begun_) copy.begin();
  BucketReport report;
  report.bins = copy.options_.bins;
  report.are_estimated = !has_bins_;
  for (Bucket& bucket : copy.buckets_) {
    close(bucket);
    report.lines.push_back(bucket.line);
  }
  close(copy.unsorted_);
  const BucketLine& unsorted = copy.unsorted_.line;
  if (unsorted.padded_hours > 0) {
    report.unsorted_padding_share = 1 - unsorted.hours / unsorted.padded_hours;
  }
  return report;
}

}  // namespace s2s::data

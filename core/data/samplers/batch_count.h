#pragma once
// Whether a batch is full.

#include "samplers/samplers.h"

namespace s2s::data {

/// Counts the cuts of one batch.   Source: lhotse dataset/sampling/base.py TimeConstraint.
class BatchCount {
 public:
  explicit BatchCount(const BatchLimits& limits) : limits_(&limits) {}
  void add(double length);
  bool exceeded() const;
  /// One more cut as long as the longest would be too much.
  bool close_to_exceeding() const;
  int64_t num_cuts() const { return num_cuts_; }

 private:
  const BatchLimits* limits_;
  int64_t num_cuts_ = 0;
  double longest_ = 0;
};

/// Errors: [data/batch-limits] when nothing is limited, or by something that is not above 0.
void check_limits(const BatchLimits& limits);
/// What the fingerprint has of it.
std::string description(const BatchLimits& limits);

}  // namespace s2s::data

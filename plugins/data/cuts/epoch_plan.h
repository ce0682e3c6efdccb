#pragma once
// Which cuts make up which batch of an epoch: a function of the cuts, the rule, seed and epoch.

#include <cstdint>
#include <limits>
#include <vector>

#include "pack.h"

namespace s2s::cuts {

struct BatchRule {
  int64_t max_rows = std::numeric_limits<int64_t>::max();
  double max_seconds = std::numeric_limits<double>::infinity();  // rows x longest row
  bool drop_last = false;
  bool shuffle = false;
  PackRule pack;  // max_frames 0: cuts stay alone
};

using PlannedRows = std::vector<CutSequence>;
using EpochPlan = std::vector<PlannedRows>;

/// Points into `cuts`, which has to outlive the plan.
/// Source of the batch rule: lhotse TimeConstraint (a batch closes before count x longest would
/// exceed the limit; a row that is too long by itself makes its own batch).
EpochPlan plan_epoch(const std::vector<Cut>& cuts, const BatchRule& rule, uint64_t seed,
                     int64_t epoch);

}  // namespace s2s::cuts

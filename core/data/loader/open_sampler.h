#pragma once
// Opens the sampler that a block's options ask for.

#include "loader/dataset_scope.h"
#include "loader/pack_rows.h"
#include "samplers/samplers.h"

namespace s2s::data {

/// Finds contradictions between options that are valid one by one.
void check_batches(const DatasetScope& scope, Findings& findings);

/// Returns the bounds of buckets: the given ones, or evenly spaced ones from min_duration to
/// max_duration. Empty: they have to be estimated.
/// Errors: [data/bins].   Source: NeMo determine_bucket_duration_bins.
Bins bucket_bins(const DatasetScope& scope);

/// Returns the rule of `concatenate`, or nothing if cuts are not packed. Errors:
/// [data/concatenate].
std::optional<PackRule> pack_rule(const DatasetScope& scope);

/// Samples batches from `source`, whose cuts are already changed and filtered.
SamplerPtr open_sampler(StreamPtr source, const DatasetScope& scope);

}  // namespace s2s::data

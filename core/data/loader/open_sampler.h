#pragma once
// The sampler that a block's options ask for.

#include "loader/dataset_scope.h"
#include "loader/pack_rows.h"
#include "samplers/samplers.h"

namespace s2s::data {

/// What is wrong with options that are fine one by one.
void check_batches(const DatasetScope& scope, Findings& findings);

/// Bounds of buckets: given ones, or evenly from min_duration to max_duration; empty: estimate.
/// Errors: [data/bins].   Source: NeMo determine_bucket_duration_bins.
Bins bucket_bins(const DatasetScope& scope);

/// The whole of `concatenate`; nothing: cuts stay alone. Errors: [data/concatenate].
std::optional<PackRule> pack_rule(const DatasetScope& scope);

/// Batches of `source`, whose cuts have been changed and filtered.
SamplerPtr open_sampler(StreamPtr source, const DatasetScope& scope);

}  // namespace s2s::data

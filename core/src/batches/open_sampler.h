#pragma once
// The sampler that a block's options ask for.

#include "batches/pack_rows.h"
#include "batches/set_scope.h"
#include "sampling/samplers.h"

namespace s2s::data {

/// What is wrong with options that are fine one by one.
void check_batches(const LoaderScope& scope, Findings& findings);

/// Bounds of buckets: given ones, or evenly from min_duration to max_duration; empty: estimate.
/// Errors: [data/bins].   Source: NeMo determine_bucket_duration_bins.
Bins bucket_bins(const LoaderScope& scope);

/// The whole of `concatenate`; nothing: cuts stay alone. Errors: [data/concatenate].
std::optional<PackRule> pack_rule(const LoaderScope& scope);

/// Batches of `source`, whose cuts have been changed and filtered.
SamplerPtr open_sampler(StreamPtr source, const LoaderScope& scope);

}  // namespace s2s::data

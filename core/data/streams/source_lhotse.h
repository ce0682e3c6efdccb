#pragma once
// Lhotse's manifests and Shar directories as streams.

#include "streams/combinators.h"
#include "streams/input_tree.h"

namespace s2s::data {

/// Manifests of cuts one after the other, with paths resolved.
StreamPtr open_manifests(const std::vector<std::string>& paths, const InputAttributes& attributes);

/// A Shar directory or shards by field, shards in another order in each pass.
StreamPtr open_shar(const InputFiles& files, const InputAttributes& attributes);
/// Of all shards; opens them one after the other.
int64_t num_shar_cuts(const InputFiles& files, const InputAttributes& attributes);

}  // namespace s2s::data

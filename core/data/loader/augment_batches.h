#pragma once
// What a block's options do to the cuts of batches, in NeMo's order, with lhotse's draws.

#include "loader/dataset_scope.h"
#include "samplers/samplers.h"

namespace s2s::data {

/// Joined cuts, lowpass, clipping, rooms, compression.
SamplerPtr change_batches(SamplerPtr source, const DatasetScope& scope);

}  // namespace s2s::data

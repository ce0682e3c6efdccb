#pragma once
// What a block's options do to the cuts of batches, in NeMo's order, with lhotse's draws.

#include "batches/set_scope.h"
#include "sampling/samplers.h"

namespace s2s::data {

/// Joined cuts, lowpass, clipping, rooms, compression.
SamplerPtr change_batches(SamplerPtr source, const LoaderScope& scope);

}  // namespace s2s::data

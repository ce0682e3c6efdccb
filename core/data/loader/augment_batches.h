#pragma once
// Applies a block's options to the cuts of batches, in NeMo's order and with lhotse's random
// choices.

#include "loader/dataset_scope.h"
#include "samplers/samplers.h"

namespace s2s::data {

/// Joins cuts, and applies the low-pass filter, clipping, rooms and compression.
SamplerPtr change_batches(SamplerPtr source, const DatasetScope& scope);

}  // namespace s2s::data

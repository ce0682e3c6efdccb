#pragma once
// Applies a block's options to single cuts, in NeMo's order.

#include "loader/dataset_scope.h"
#include "streams/input_stream.h"

namespace s2s::data {

using InputMaker = std::function<OpenedInput()>;

/// Applies channel selection, other texts, noise, speed, slicing, padding, filters and the limit.
/// Calls `open` once, or three times for three speeds.
StreamPtr change_cuts(const InputMaker& open, const DatasetScope& scope);

}  // namespace s2s::data

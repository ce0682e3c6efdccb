#pragma once
// What a block's options do to the cuts of its sources, one by one: in NeMo's order.

#include "loader/dataset_scope.h"
#include "streams/input_stream.h"

namespace s2s::data {

using InputMaker = std::function<OpenedInput()>;

/// Channels, other texts, noise, speed, pieces, padding, filters, the limit. `open` is called once,
/// or three times for three speeds.
StreamPtr change_cuts(const InputMaker& open, const DatasetScope& scope);

}  // namespace s2s::data

#pragma once
// Kyutai's own files of Mimi: the same weights under its names.

#include <memory>

#include "mimi_options.h"
#include "s2s/nn/block.h"
#include "s2s/nn/weights.h"

namespace s2s::mimi {

/// True if the weights have Kyutai's names.
bool is_kyutai(const WeightFiles& files);

/// The values of the codec's buffers, under transformers' names, from Kyutai's. Queries, keys and
/// values are one matrix there, and rotary pairs are neighbors. Errors: [codec/mimi-weights] lists
/// what is missing or has another shape.
std::unique_ptr<WeightSource> kyutai_source(Block& codec, const MimiOptions& options,
                                            WeightFiles files);

}  // namespace s2s::mimi

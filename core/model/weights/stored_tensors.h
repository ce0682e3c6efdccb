#pragma once

#include <vector>

#include "s2s/nn/block.h"

namespace s2s {

/// What checkpoints hold of a block: parameters, and buffers that are stored. A buffer may have no
/// memory yet.
std::vector<NamedTensor> stored_tensors(Block& block);

}  // namespace s2s

#pragma once
// Activation recomputation: a block's inside is not kept for the backward pass, but computed again.

#include "s2s/nn/block.h"

namespace s2s {

/// run(x) of `block`, of which only x is kept: the backward pass runs it again, with the same
/// random numbers, dtypes and buffers. Without gradients it is run(x). Source:
/// torch.utils.checkpoint, the re-entrant kind.
at::Tensor recomputed(Block& block, const at::Tensor& x, const BlockHooks::Forward& run);

}  // namespace s2s

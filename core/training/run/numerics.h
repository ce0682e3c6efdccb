#pragma once

#include "config/run_blocks.h"

namespace s2s {

/// How LibTorch computes in this process: trainer.deterministic and trainer.float32_matmul. Call it
/// before the first operator on a GPU.
void set_numerics(const TrainerBlock& trainer);

}  // namespace s2s

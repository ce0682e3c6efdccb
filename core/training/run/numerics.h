#pragma once

#include <c10/core/Device.h>

#include "base/warnings.h"
#include "config/run_blocks.h"
#include "train/precision.h"

namespace s2s {

/// How LibTorch computes in this process: trainer.deterministic, trainer.float32_matmul and
/// trainer.attention. Call it before the first operator on a GPU. Some of LibTorch's switches have
/// a meaning on CUDA only. They are set here all the same, because a run's numbers must not depend
/// on whether there is a plugin with kernels (decision 0025).
void set_numerics(const TrainerBlock& trainer);

/// Warns if this processor computes in trainer.precision many times slower than in float32.
void warn_of_slow_precision(const Precision& precision, at::Device device, Warnings& warnings);

}  // namespace s2s

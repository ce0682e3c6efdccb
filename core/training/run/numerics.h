#pragma once

#include <c10/core/Device.h>

#include "base/warnings.h"
#include "config/run_blocks.h"
#include "train/precision.h"

namespace s2s {

/// Sets how LibTorch computes in this process: trainer.deterministic, trainer.float32_matmul and
/// trainer.attention. Must be called before the first operator on a GPU. Also sets switches that
/// only affect CUDA, so that a run's numbers do not depend on a plugin with kernels (decision
/// 0025).
void set_numerics(const TrainerBlock& trainer);

/// Warns if this processor is many times slower in trainer.precision than in float32.
void warn_of_slow_precision(const Precision& precision, at::Device device, Warnings& warnings);

}  // namespace s2s

#pragma once
// Augmentation in training. Random numbers come from torch's default CPU generator, whose state is
// part of checkpoints. Shape letters: B batch, T frames, F mel bands.

#include <ATen/core/Tensor.h>

#include "fastconformer_options.h"

namespace s2s::fastconformer {

/// Warps bands, changes loudness and adds colored noise, with new random values for each row.
at::Tensor augment_power(const at::Tensor& power_BTF, const at::Tensor& frames_B,
                         const AugmentOptions& options);

/// Sets random spans of time and bands of frequencies to zero.
at::Tensor mask_features(const at::Tensor& x_BTF, const at::Tensor& frames_B,
                         const SpecAugmentOptions& options);

}  // namespace s2s::fastconformer

#pragma once
// Augmentation in training. Random numbers come from torch's default CPU generator, whose state a
// checkpoint keeps.  Shape letters: B batch, T frames, F mel bands.

#include <ATen/core/Tensor.h>

#include "fastconformer_options.h"

namespace s2s::fastconformer {

/// Warped bands, other loudness and added colored noise, drawn anew for each row.
/// Shapes: power [B, T, F], frames [B] int64 valid ones -> [B, T, F].
at::Tensor augment_power(const at::Tensor& power_BTF, const at::Tensor& frames_B,
                         const AugmentOptions& options);

/// Zeros in random stretches of time and bands of frequencies.
/// Shapes: [B, T, F], frames [B] -> [B, T, F].
at::Tensor mask_features(const at::Tensor& x_BTF, const at::Tensor& frames_B,
                         const SpecAugmentOptions& options);

}  // namespace s2s::fastconformer

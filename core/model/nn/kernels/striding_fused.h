#pragma once
// The ReLU of a subsampling stage and the following depth-wise convolution in one pass, forward and
// backward. The activations between them, the largest of the whole model, are never stored. Shape
// letters: B batch, T frames, F bands, C channels; U, G frames and bands after subsampling.

#include <ATen/core/Tensor.h>

namespace s2s {

/// The weight [C, 1, 3, 3] and bias [C] of a convolution.
struct StridingWeights {
  const at::Tensor &weight, &bias;
};

/// Returns true when the fused passes can be used: float32 on a CPU, channels in whole blocks.
bool is_striding_fused(const at::Tensor& x, const at::Tensor& weight_C133);

/// depthwise(relu(first(x))): the first two convolutions, both 3 x 3 with stride 2. x gets no
/// gradient. Each axis is padded with `left` zeros before and one after. Frames of first(x) at or
/// after lengths_B count as zero.
/// Shapes: x [B, T, F], lengths [B] (int64, CPU) of first(x) -> [B, U, G, C].
at::Tensor first_two_convolutions(const at::Tensor& x_BTF, const at::Tensor& lengths_B,
                                  const StridingWeights& first, const StridingWeights& depthwise,
                                  int64_t left);

/// depthwise(relu(x)). Frames of x at or after lengths_B count as zero.
/// Shapes: x [B, T, F, C], lengths [B] (int64, CPU) -> [B, U, G, C].
at::Tensor relu_depthwise(const at::Tensor& x_BTFC, const at::Tensor& lengths_B,
                          const StridingWeights& depthwise, int64_t left);

// Masking of frames after each row's length.  Shape letters: B batch, T frames, * anything.

/// Returns a copy of [B, T, *] in which the frames after each length (int64 [B]) are zero.
at::Tensor masked_frames(const at::Tensor& x, const at::Tensor& lengths_B);

/// Applies a ReLU and then the same mask. Overwrites the memory of `x`: it must be a new result of
/// an operation that does not need it for backward. Only the result is kept for backward.
at::Tensor masked_relu(const at::Tensor& x, const at::Tensor& lengths_B);

}  // namespace s2s

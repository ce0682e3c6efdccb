#pragma once
// A subsampling stage's ReLU and the channel-by-channel convolution after it in one pass, both
// ways: the activations between them, the largest of the whole model, are never stored. Shape
// letters: B batch, T frames, F bands, C channels; U, G frames and bands after thinning.

#include <ATen/core/Tensor.h>

namespace s2s {

/// A convolution's weight [C, 1, 3, 3] and bias [C].
struct StridingWeights {
  const at::Tensor &weight, &bias;
};

/// True when the fused passes apply: float32 on a CPU, channels in whole blocks.
bool is_striding_fused(const at::Tensor& x, const at::Tensor& weight_C133);

/// depthwise(relu(first(x))): the first two convolutions, both 3 x 3 with stride 2. x has no
/// gradient. `left` zeros come before both axes and one after. Frames of the first one's result at
/// or beyond lengths_B count as zero. Shapes: x [B, T, F], lengths [B] (int64, CPU) of first(x) ->
/// [B, U, G, C].
at::Tensor first_two_convolutions(const at::Tensor& x_BTF, const at::Tensor& lengths_B,
                                  const StridingWeights& first, const StridingWeights& depthwise,
                                  int64_t left);

/// depthwise(relu(x)); frames of x at or beyond lengths_B count as zero.
/// Shapes: x [B, T, F, C], lengths [B] (int64, CPU) -> [B, U, G, C].
at::Tensor relu_depthwise(const at::Tensor& x_BTFC, const at::Tensor& lengths_B,
                          const StridingWeights& depthwise, int64_t left);

// Zeros beyond each row's length.  Shape letters: B batch, T frames, * anything.

/// [B, T, *] with the frames beyond each length (int64 [B]) set to zero, in a copy.
at::Tensor masked_frames(const at::Tensor& x, const at::Tensor& lengths_B);

/// The same after a ReLU. Takes over the memory of `x`, which must be the fresh result of an
/// operation that does not need it for its own backward; the result alone serves this backward.
at::Tensor masked_relu(const at::Tensor& x, const at::Tensor& lengths_B);

}  // namespace s2s

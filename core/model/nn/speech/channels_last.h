#pragma once
// Memory in which the channels of a position are beside each other. oneDNN computes convolutions of
// it at about twice the speed, and pieces are joined along positions without a transposition. Shape
// letters: B batch, C channels, T positions.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace s2s {

/// Whether layers of audio use this memory for x: float32 on a CPU, no gradients, no autocast.
bool uses_channels_last(const at::Tensor& x_BCT);

/// [B, C, T] without values, like `x` but for its sizes.
at::Tensor new_channels_last(const at::Tensor& x, int64_t channels, int64_t positions);

/// Positions of both, in this memory where `x` uses it. `before` may be undefined or empty.
at::Tensor joined_positions(const at::Tensor& before_BCT, const at::Tensor& x_BCT);

/// A weight [O, C, kernel] as channels_last_conv reads it: in oneDNN's own order, which each call
/// would otherwise make anew, or [kernel, C] if there is one output.
at::Tensor packed_conv_weight(const at::Tensor& weight_OCK, int64_t stride, int64_t dilation);

/// A convolution without padding -> [B, O, T'].
at::Tensor channels_last_conv(const at::Tensor& x_BCT, const at::Tensor& packed_weight,
                              const at::Tensor& bias_O, int64_t stride, int64_t dilation);

}  // namespace s2s

#pragma once
// Depth-wise convolutions of images.

#include <ATen/core/Tensor.h>

#include <array>

namespace s2s {

/// Convolves each channel by a filter of its own, differentiable. On a CPU images with channels
/// last are the fastest. On a GPU they would go to cuDNN, which compiles a plan of 0.3 to 0.8 s for
/// each new width (measured on an H100), so the image is copied: with channels first LibTorch has
/// its own kernel, as fast and without plans.
/// Shapes: x [B, C, H, W], weight [C, 1, h, w], bias [C] or undefined -> [B, C, H', W'].
at::Tensor depthwise_conv(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                          std::array<int64_t, 2> stride, std::array<int64_t, 2> padding = {0, 0});

}  // namespace s2s

#pragma once
// Depth-wise convolutions of images.

#include <ATen/core/Tensor.h>

#include <array>

namespace s2s {

/// Convolves each channel by a filter of its own, differentiable. Images with channels last are the
/// fastest on a CPU. On a GPU it takes LibTorch's own kernel, which is about as fast as cuDNN's:
/// cuDNN compiles a plan for every new width, which takes 0.4 to 0.5 s on an H100.
/// Shapes: x [B, C, H, W], weight [C, 1, h, w], bias [C] or undefined -> [B, C, H', W'].
at::Tensor depthwise_conv(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                          std::array<int64_t, 2> stride, std::array<int64_t, 2> padding = {0, 0});

}  // namespace s2s

#pragma once
// Layers with the same input as one product, where their weights lie one after the other in memory:
// in a flat group, and where InitialValues allocates them together. On devices only: there, one
// large product takes less time than several, and its gradient is summed by the product itself.

#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <vector>

#include "s2s/nn/layers.h"

namespace s2s {

/// The outputs of all layers, side by side: [..., in] -> [..., sum of out]. Parameters get their
/// gradients as from separate products. Undefined if the layers have to be called one by one: on a
/// CPU, under autocast, with LoRA, if a parallel strategy works at one of them, or if weights or
/// biases are separate.
at::Tensor joined_linear(const at::Tensor& x, std::initializer_list<Linear*> layers);

/// The parts of y [..., W] with these widths. They share its memory.
std::vector<at::Tensor> split_columns(const at::Tensor& y, const std::vector<int64_t>& widths);

}  // namespace s2s

#pragma once
// What strategies do with gradients.

#include <ATen/core/Tensor.h>

#include <vector>

#include "s2s/nn/block.h"

namespace s2s {

/// The gradients that there are, in the order of parameters.
std::vector<at::Tensor> gradients_of(Block& model);

/// Norm of all gradients together (the norm of their norms), in float32; 0 without gradients.
double gradient_norm(const std::vector<at::Tensor>& gradients);

/// Scales gradients whose norm together is `norm` so that it is at most `max_norm`; 0: never.
/// Source: torch/nn/utils/clip_grad.py.
void clip_gradients(std::vector<at::Tensor>& gradients, double norm, double max_norm);

}  // namespace s2s

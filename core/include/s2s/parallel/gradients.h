#pragma once
// Gradient functions for strategies.

#include <ATen/core/Tensor.h>

#include <vector>

#include "s2s/nn/block.h"

namespace s2s {

/// All defined gradients, in the order of parameters.
std::vector<at::Tensor> gradients_of(Block& model);

/// Global norm of all gradients (the norm of their norms, which are float32): float64 without
/// dimensions, where the gradients are. 0 without gradients.
at::Tensor gradient_norm(const std::vector<at::Tensor>& gradients);

}  // namespace s2s

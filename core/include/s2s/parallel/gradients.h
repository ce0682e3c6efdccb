#pragma once
// Gradient functions for strategies.

#include <ATen/core/Tensor.h>

#include <vector>

#include "s2s/nn/block.h"

namespace s2s {

/// All defined gradients, in the order of parameters.
std::vector<at::Tensor> gradients_of(Block& model);

/// Global norm of all gradients (the norm of their norms), in float32; 0 without gradients.
double gradient_norm(const std::vector<at::Tensor>& gradients);

/// Scales gradients with the global norm `norm` so that it is at most `max_norm`; 0: never scales.
void clip_gradients(std::vector<at::Tensor>& gradients, double norm, double max_norm);

}  // namespace s2s

#include "s2s/gradients.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace s2s {

std::vector<at::Tensor> gradients_of(Block& model) {
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& parameter : model.named_parameters()) {
    if (parameter.tensor->grad().defined()) gradients.push_back(parameter.tensor->grad());
  }
  return gradients;
}

double gradient_norm(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  if (gradients.empty()) return 0;
  return at::stack(at::_foreach_norm(gradients, 2, at::kFloat)).norm().item<double>();
}

void clip_gradients(std::vector<at::Tensor>& gradients, double norm, double max_norm) {
  const at::NoGradGuard no_grad;
  const double scale = max_norm / (norm + 1e-6);
  if (max_norm > 0 && scale < 1 && !gradients.empty()) at::_foreach_mul_(gradients, scale);
}

}  // namespace s2s

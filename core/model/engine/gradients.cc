#include "s2s/parallel/gradients.h"

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

namespace {

/// On a CPU, LibTorch sums a tensor's squares in a few running sums. This loses 0.06 % of the norm
/// of 16 million float32 values and 0.5 % of 67 million. Summing row by row avoids the loss.
constexpr int64_t kRow = 4096;

bool is_long(const at::Tensor& gradient) {
  return gradient.is_cpu() && gradient.numel() > 4 * kRow;
}

}  // namespace

double gradient_norm(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  if (gradients.empty()) return 0;
  std::vector<at::Tensor> norms, rest;
  for (const at::Tensor& gradient : gradients) {
    if (!is_long(gradient)) {
      rest.push_back(gradient);
      continue;
    }
    const at::Tensor flat = gradient.reshape({-1});
    const int64_t in_rows = flat.numel() / kRow * kRow;
    const at::Tensor rows = flat.narrow(0, 0, in_rows).view({-1, kRow});
    norms.push_back(at::linalg_vector_norm(rows, 2, {1}, /*keepdim=*/false, at::kFloat));
    if (in_rows < flat.numel()) rest.push_back(flat.narrow(0, in_rows, flat.numel() - in_rows));
  }
  if (!rest.empty()) norms.push_back(at::stack(at::_foreach_norm(rest, 2, at::kFloat)));
  return at::cat(norms).to(at::kDouble).norm().item<double>();
}

void clip_gradients(std::vector<at::Tensor>& gradients, double norm, double max_norm) {
  const at::NoGradGuard no_grad;
  const double scale = max_norm / (norm + 1e-6);
  if (max_norm > 0 && scale < 1 && !gradients.empty()) at::_foreach_mul_(gradients, scale);
}

}  // namespace s2s

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

at::Tensor gradient_norm(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  if (gradients.empty()) return at::zeros({}, at::kDouble);
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
  return at::cat(norms).to(at::kDouble).norm();
}

}  // namespace s2s

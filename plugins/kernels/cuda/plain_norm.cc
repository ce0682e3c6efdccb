#include "plain_norm.h"

#include <ATen/ATen.h>

namespace s2s::cuda {
namespace {

/// float32, or float64 for tensors of that.
at::Tensor widened(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> plain_rms_norm(const at::Tensor& x, const at::Tensor& weight,
                                                  double eps, bool adds_one) {
  const at::Tensor wide = widened(x);
  const at::Tensor inv_rms = at::rsqrt(wide.square().mean(-1, true) + eps);
  const at::Tensor normed = wide * inv_rms;
  const at::Tensor y = adds_one ? (normed * (1 + widened(weight))).to(x.scalar_type())
                                : normed.to(x.scalar_type()) * weight;
  return {y, inv_rms.reshape(-1)};
}

std::tuple<at::Tensor, at::Tensor> plain_rms_norm_backward(const at::Tensor& dy,
                                                           const at::Tensor& x,
                                                           const at::Tensor& weight,
                                                           const at::Tensor& inv_rms,
                                                           bool adds_one) {
  const int64_t dim = x.size(-1);
  const at::Tensor grad = widened(dy).reshape({-1, dim});
  const at::Tensor rows = widened(x).reshape({-1, dim});
  const at::Tensor r = inv_rms.unsqueeze(1);
  const at::Tensor factor = adds_one ? 1 + widened(weight) : widened(weight);
  const at::Tensor scaled = grad * factor;
  const at::Tensor pull = (scaled * rows).sum(1, true) * r.pow(3) / dim;
  const at::Tensor dx = (scaled * r - rows * pull).to(x.scalar_type()).reshape(x.sizes());
  return {dx, (grad * rows * r).sum(0).to(weight.scalar_type())};
}

}  // namespace s2s::cuda

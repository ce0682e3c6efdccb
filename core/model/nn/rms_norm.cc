// RMS norm, and RMS norm of a sum: one autograd function each for all devices. If a device has no
// implementation of the operator, the plain formulas run, with their own gradients.

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include "nn/fused.h"
#include "nn/operators.h"
#include "nn/row_runs.h"

namespace s2s {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class RmsNormFunction : public torch::autograd::Function<RmsNormFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_in,
                            const at::Tensor& weight, double eps, bool adds_one) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::Tensor x = x_in.contiguous();
    const auto [y, inv_rms] = operators().rms_norm.call(x, weight, eps, adds_one);
    context->save_for_backward({x, weight, inv_rms});
    context->saved_data["adds_one"] = adds_one;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const variable_list saved = context->get_saved_variables();
    const auto [dx, d_weight] =
        operators().rms_norm_backward.call(outputs[0].contiguous(), saved[0], saved[1], saved[2],
                                           context->saved_data["adds_one"].toBool());
    return {dx, d_weight, {}, {}};
  }
};

/// x + y and its norm.
class AddRmsNormFunction : public torch::autograd::Function<AddRmsNormFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& y,
                               const at::Tensor& weight, double eps, bool adds_one) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const auto [sum, normed, inv_rms] =
        operators().add_rms_norm.call(x.contiguous(), y.contiguous(), weight, eps, adds_one);
    context->save_for_backward({sum, weight, inv_rms});
    context->saved_data["adds_one"] = adds_one;
    return {sum, normed};
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const variable_list saved = context->get_saved_variables();
    const auto [dx, d_weight] = operators().add_rms_norm_backward.call(
        outputs[0].contiguous(), outputs[1].contiguous(), saved[0], saved[1], saved[2],
        context->saved_data["adds_one"].toBool());
    return {dx, dx, d_weight, {}, {}};
  }
};

/// Returns true for tensors that the operators take on any device.
bool fits(const at::Tensor& x, const at::Tensor& weight) {
  return weight.scalar_type() == x.scalar_type() && weight.is_contiguous() && x.numel() > 0;
}

bool has_kernel(const c10::OperatorHandle& op, const at::Tensor& x) {
  const at::ScalarType type = x.scalar_type();
  return (type == at::kFloat || type == at::kBFloat16 || type == at::kHalf) &&
         is_implemented(op, x);
}

}  // namespace

at::Tensor rms_norm_plain(const at::Tensor& x, const at::Tensor& weight, double eps,
                          NormWeight kind) {
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor normed = wide * at::rsqrt(wide.square().mean(-1, true) + eps);
  if (kind == NormWeight::kAddedToOne) {
    return (normed * (1 + weight.to(at::kFloat))).to(x.scalar_type());
  }
  return normed.to(x.scalar_type()) * weight;
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, NormWeight kind) {
  const bool is_fused =
      fits(x, weight) && (x.is_cpu() ? runs_in_rows(x) : has_kernel(operators().rms_norm, x));
  return is_fused ? RmsNormFunction::apply(x, weight, eps, kind == NormWeight::kAddedToOne)
                  : rms_norm_plain(x, weight, eps, kind);
}

std::pair<at::Tensor, at::Tensor> add_rms_norm(const at::Tensor& x, const at::Tensor& y,
                                               const at::Tensor& weight, double eps,
                                               NormWeight kind) {
  const bool is_fused = fits(x, weight) && y.scalar_type() == x.scalar_type() &&
                        y.sizes() == x.sizes() && y.device() == x.device() &&
                        has_kernel(operators().add_rms_norm, x);
  if (is_fused) {
    const variable_list both =
        AddRmsNormFunction::apply(x, y, weight, eps, kind == NormWeight::kAddedToOne);
    return {both[0], both[1]};
  }
  const at::Tensor sum = x + y;
  return {sum, rms_norm(sum, weight, eps, kind)};
}

}  // namespace s2s

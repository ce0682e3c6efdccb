// RMS norm, and RMS norm of a sum: one autograd function each for all devices. If a device has no
// implementation of the operator, the plain formulas run, with their own gradients.

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include "nn/fused.h"
#include "nn/operators.h"

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
    context->saved_data["y_type"] = static_cast<int64_t>(y.scalar_type());
    return {sum, normed};
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const variable_list saved = context->get_saved_variables();
    const auto [dx, dy, d_weight] = operators().add_rms_norm_backward.call(
        outputs[0].contiguous(), outputs[1].contiguous(), saved[0], saved[1], saved[2],
        context->saved_data["adds_one"].toBool(),
        static_cast<at::ScalarType>(context->saved_data["y_type"].toInt()));
    return {dx, dy, d_weight, {}, {}};
  }
};

bool is_kernel_type(at::ScalarType type) {
  return type == at::kFloat || type == at::kBFloat16 || type == at::kHalf;
}

/// Returns true for tensors of which the operator computes the norm. Under autocast, activations
/// and weights have other dtypes; kernels of a device take each dtype with each.
bool fits(const c10::OperatorHandle& op, const at::Tensor& x, const at::Tensor& weight) {
  const bool is_weight =
      x.is_cpu() ? weight.scalar_type() == x.scalar_type() : is_kernel_type(weight.scalar_type());
  return is_weight && weight.is_contiguous() && x.numel() > 0 && has_kernel(op, x);
}

/// Returns true for a second summand that leaves the sum the dtype of the first.
bool fits_sum(const at::Tensor& x, const at::Tensor& y) {
  const bool is_type =
      x.is_cpu() ? y.scalar_type() == x.scalar_type()
                 : is_kernel_type(y.scalar_type()) &&
                       at::promote_types(x.scalar_type(), y.scalar_type()) == x.scalar_type();
  return is_type && y.sizes() == x.sizes() && y.device() == x.device();
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
  return fits(operators().rms_norm, x, weight)
             ? RmsNormFunction::apply(x, weight, eps, kind == NormWeight::kAddedToOne)
             : rms_norm_plain(x, weight, eps, kind);
}

std::pair<at::Tensor, at::Tensor> add_rms_norm(const at::Tensor& x, const at::Tensor& y,
                                               const at::Tensor& weight, double eps,
                                               NormWeight kind) {
  if (fits(operators().add_rms_norm, x, weight) && fits_sum(x, y)) {
    const variable_list both =
        AddRmsNormFunction::apply(x, y, weight, eps, kind == NormWeight::kAddedToOne);
    return {both[0], both[1]};
  }
  const at::Tensor sum = x + y;
  return {sum, rms_norm(sum, weight, eps, kind)};
}

}  // namespace s2s

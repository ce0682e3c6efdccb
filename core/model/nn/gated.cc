// The activation of a gated MLP, from two tensors or from two halves of one. If a device has no
// implementation of the operator, ATen's operators compute the same formula.

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include "nn/fused.h"
#include "nn/operators.h"

namespace s2s {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

class GatedFunction : public Function<GatedFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate_in,
                            const at::Tensor& up_in, bool is_silu) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::Tensor gate = gate_in.contiguous();
    const at::Tensor up = up_in.contiguous();
    context->save_for_backward({gate, up});
    context->saved_data["is_silu"] = is_silu;
    return operators().gated.call(gate, up, is_silu);
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const variable_list saved = context->get_saved_variables();
    const auto [d_gate, d_up] = operators().gated_backward.call(
        outputs[0].contiguous(), saved[0], saved[1], context->saved_data["is_silu"].toBool());
    return {d_gate, d_up, {}};
  }
};

class GatedHalvesFunction : public Function<GatedHalvesFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate_up_in, bool is_silu) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::Tensor gate_up = gate_up_in.contiguous();
    context->save_for_backward({gate_up});
    context->saved_data["is_silu"] = is_silu;
    return operators().gated_halves.call(gate_up, is_silu);
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    return {operators().gated_halves_backward.call(outputs[0].contiguous(),
                                                   context->get_saved_variables()[0],
                                                   context->saved_data["is_silu"].toBool()),
            {}};
  }
};

at::Tensor activated(const at::Tensor& gate, bool is_silu) {
  return is_silu ? at::silu(gate) : at::gelu(gate, "tanh");
}

/// Keeps only `gate_up` for the backward, and computes the activation again there.
class GatedHalvesPlain : public Function<GatedHalvesPlain> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate_up, bool is_silu) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    context->save_for_backward({gate_up});
    context->saved_data["is_silu"] = is_silu;
    const auto halves = gate_up.chunk(2, -1);
    return activated(halves[0], is_silu) * halves[1];
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const bool is_silu = context->saved_data["is_silu"].toBool();
    const auto halves = context->get_saved_variables()[0].chunk(2, -1);
    const at::Tensor& dy = outputs[0];
    const at::Tensor d_gate_up = at::empty_like(context->get_saved_variables()[0]);
    auto grads = d_gate_up.chunk(2, -1);
    const at::Tensor d_activated = dy * halves[1];
    if (is_silu) {
      at::silu_backward_out(grads[0], d_activated, halves[0]);
    } else {
      at::gelu_backward_out(grads[0], d_activated, halves[0], "tanh");
    }
    at::mul_out(grads[1], dy, activated(halves[0], is_silu));
    return {d_gate_up, {}};
  }
};

bool is_fused(const at::Tensor& gate, const at::Tensor& up) {
  return gate.scalar_type() == up.scalar_type() && gate.sizes() == up.sizes() && gate.numel() > 0 &&
         has_kernel(operators().gated, gate);
}

}  // namespace

at::Tensor swiglu_plain(const at::Tensor& gate, const at::Tensor& up) {
  return at::silu(gate) * up;
}

at::Tensor geglu_plain(const at::Tensor& gate, const at::Tensor& up) {
  return at::gelu(gate, "tanh") * up;
}

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  return is_fused(gate, up) ? GatedFunction::apply(gate, up, true) : swiglu_plain(gate, up);
}

at::Tensor geglu(const at::Tensor& gate, const at::Tensor& up) {
  return is_fused(gate, up) ? GatedFunction::apply(gate, up, false) : geglu_plain(gate, up);
}

at::Tensor gated_halves(const at::Tensor& gate_up, GateActivation activation) {
  const bool is_silu = activation == GateActivation::kSilu;
  return gate_up.numel() > 0 && has_kernel(operators().gated_halves, gate_up)
             ? GatedHalvesFunction::apply(gate_up, is_silu)
             : GatedHalvesPlain::apply(gate_up, is_silu);
}

}  // namespace s2s

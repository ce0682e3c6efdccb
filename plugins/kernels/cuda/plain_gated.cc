#include "plain_gated.h"

#include <ATen/ATen.h>

namespace s2s::cuda {
namespace {

at::Tensor activated(const at::Tensor& gate, bool is_silu) {
  return is_silu ? at::silu(gate) : at::gelu(gate, "tanh");
}

}  // namespace

at::Tensor plain_gated(const at::Tensor& gate, const at::Tensor& up, bool is_silu) {
  return activated(gate, is_silu) * up;
}

void plain_gated_backward(const at::Tensor& dy, const at::Tensor& gate, const at::Tensor& up,
                          bool is_silu, const at::Tensor& d_gate, const at::Tensor& d_up) {
  const at::Tensor through = dy * up;
  d_gate.copy_(is_silu ? at::silu_backward(through, gate)
                       : at::gelu_backward(through, gate, "tanh"));
  d_up.copy_(dy * activated(gate, is_silu));
}

}  // namespace s2s::cuda

// The cell of an LSTM. On devices that are no CPU LibTorch calls one operator for it.

#include <ATen/ATen.h>
#include <torch/library.h>

namespace s2s::test_device {
namespace {

/// Gates in the order of LibTorch: input, forget, cell, output. -> hidden, cell, and the workspace
/// of the backward pass, which frozen LSTMs do not need.
std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(
    const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& cell,
    const std::optional<at::Tensor>& input_bias, const std::optional<at::Tensor>& hidden_bias) {
  at::Tensor gates = input_gates + hidden_gates;
  for (const auto& bias : {input_bias, hidden_bias}) {
    if (bias && bias->defined()) gates = gates + *bias;
  }
  const std::vector<at::Tensor> four = gates.chunk(4, -1);
  const at::Tensor next = four[1].sigmoid() * cell + four[0].sigmoid() * four[2].tanh();
  return {four[3].sigmoid() * next.tanh(), next, at::empty_like(gates)};
}

}  // namespace
}  // namespace s2s::test_device

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_thnn_fused_lstm_cell", &s2s::test_device::lstm_cell);
}

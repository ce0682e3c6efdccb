#pragma once
// A step of an LSTM. Shape letters: B rows, C width of the state, G = 4 C gates.

#include <ATen/core/Tensor.h>

namespace s2s {

/// The output [B, C] for gates [B, G] in torch's order; the cell's state changes. Not
/// at::lstm_cell: not every device has its fused kernel.
at::Tensor lstm_output(const at::Tensor& gates_BG, at::Tensor& cell_BC);

}  // namespace s2s

#include "nn/speech/lstm_output.h"

#include <ATen/ATen.h>

#include <vector>

namespace s2s {

at::Tensor lstm_output(const at::Tensor& gates_BG, at::Tensor& cell_BC) {
  const std::vector<at::Tensor> gates = gates_BG.chunk(4, 1);
  cell_BC = gates[1].sigmoid() * cell_BC + gates[0].sigmoid() * gates[2].tanh();
  return gates[3].sigmoid() * cell_BC.tanh();
}

}  // namespace s2s

#pragma once
// The gated activations of s2s on CUDA devices: which kernel, its grid, its memory.

#include <ATen/core/Tensor.h>

#include <memory>
#include <tuple>

#include "jit.h"

namespace s2s::cuda {

/// Each has the meaning of the operator of its name (core/model/nn/operators.cc).
class GatedOps {
 public:
  explicit GatedOps(std::shared_ptr<Jit> jit) : jit_(std::move(jit)) {}
  at::Tensor gated(const at::Tensor& gate, const at::Tensor& up, bool is_silu) const;
  std::tuple<at::Tensor, at::Tensor> gated_backward(const at::Tensor& dy, const at::Tensor& gate,
                                                    const at::Tensor& up, bool is_silu) const;
  at::Tensor gated_halves(const at::Tensor& gate_up, bool is_silu) const;
  at::Tensor gated_halves_backward(const at::Tensor& dy, const at::Tensor& gate_up,
                                   bool is_silu) const;

 private:
  /// gate and up [..., F]: whole tensors, or halves of the same contiguous rows.
  at::Tensor forward(const at::Tensor& gate, const at::Tensor& up, bool is_silu) const;
  /// d_gate and d_up lie as gate and up do.
  void backward(const at::Tensor& dy, const at::Tensor& gate, const at::Tensor& up, bool is_silu,
                const at::Tensor& d_gate, const at::Tensor& d_up) const;

  std::shared_ptr<Jit> jit_;
};

}  // namespace s2s::cuda

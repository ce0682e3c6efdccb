#pragma once
// The norms of s2s on CUDA devices: which kernel, its grid, its memory.

#include <ATen/core/Tensor.h>

#include <memory>
#include <tuple>

#include "jit.h"

namespace s2s::cuda {

using Two = std::tuple<at::Tensor, at::Tensor>;
using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

/// Each has the meaning of the operator of its name (core/model/nn/operators.cc).
class NormOps {
 public:
  explicit NormOps(std::shared_ptr<Jit> jit) : jit_(std::move(jit)) {}
  Two rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, bool adds_one) const;
  Two rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                        const at::Tensor& inv_rms, bool adds_one) const;
  Three add_rms_norm(const at::Tensor& x, const at::Tensor& y, const at::Tensor& weight, double eps,
                     bool adds_one) const;
  Three add_rms_norm_backward(const at::Tensor& d_sum, const at::Tensor& d_normed,
                              const at::Tensor& sum, const at::Tensor& weight,
                              const at::Tensor& inv_rms, bool adds_one,
                              at::ScalarType y_type) const;

 private:
  /// Adds nothing if `y` is undefined. Returns false, and computes nothing, if there is no kernel.
  bool forward(const at::Tensor& x, const at::Tensor& y, const at::Tensor& weight, double eps,
               bool adds_one, Three& result) const;
  /// d_sum: undefined without an addition. -> dx, dy, dweight.
  bool backward(const at::Tensor& d_sum, const at::Tensor& d_normed, const at::Tensor& x,
                const at::Tensor& weight, const at::Tensor& inv_rms, bool adds_one,
                at::ScalarType y_type, Three& result) const;

  std::shared_ptr<Jit> jit_;
};

}  // namespace s2s::cuda

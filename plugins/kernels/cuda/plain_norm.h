#pragma once
// The norms as formulas of LibTorch, for sizes and types that the kernels do not have. What they
// return is what the operators of s2s return (core/model/nn/operators.cc).

#include <ATen/core/Tensor.h>

#include <tuple>

namespace s2s::cuda {

std::tuple<at::Tensor, at::Tensor> plain_rms_norm(const at::Tensor& x, const at::Tensor& weight,
                                                  double eps, bool adds_one);
/// dy of the norm's result -> dx, dweight.
std::tuple<at::Tensor, at::Tensor> plain_rms_norm_backward(const at::Tensor& dy,
                                                           const at::Tensor& x,
                                                           const at::Tensor& weight,
                                                           const at::Tensor& inv_rms,
                                                           bool adds_one);

}  // namespace s2s::cuda

#pragma once
// The CPU's implementation of the operators s2s::rms_norm and s2s::rms_norm_backward.

#include <ATen/core/Tensor.h>

#include <tuple>

namespace s2s {

/// x [..., H] contiguous, weight [H], both float32 or bfloat16 -> y, 1 / rms of each row (float32).
std::tuple<at::Tensor, at::Tensor> rms_norm_rows(const at::Tensor& x, const at::Tensor& weight,
                                                 double eps, bool adds_one);
/// dy of y -> dx, dweight.
std::tuple<at::Tensor, at::Tensor> rms_norm_rows_backward(const at::Tensor& dy, const at::Tensor& x,
                                                          const at::Tensor& weight,
                                                          const at::Tensor& inv_rms, bool adds_one);

}  // namespace s2s

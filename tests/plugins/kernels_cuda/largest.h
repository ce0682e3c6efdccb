#pragma once
// What the tests of kernels compare and how.

#include <ATen/ATen.h>

#include <algorithm>

namespace s2s::test {

template <class Element>
Element* data_of(const at::Tensor& tensor) {
  return static_cast<Element*>(tensor.mutable_data_ptr());
}

/// Largest difference, as a share of the largest value where that is above 1; NaN counts as 1e9.
inline double largest(const at::Tensor& ours, const at::Tensor& exact) {
  const double scale = std::max(1.0, exact.abs().max().item<double>());
  const at::Tensor difference = (ours.to(at::kDouble) - exact).abs() / scale;
  return difference.nan_to_num(1e9, 1e9, 1e9).max().item<double>();
}

}  // namespace s2s::test

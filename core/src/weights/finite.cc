#include "weights/finite.h"

#include <ATen/ATen.h>

#include "weights/weights_errors.h"

namespace s2s {
namespace {

/// Coordinates of the first element that is set.
std::vector<int64_t> first_index(const at::Tensor& is_bad) {
  int64_t flat = is_bad.flatten().to(at::kByte).argmax().item<int64_t>();
  std::vector<int64_t> index(static_cast<size_t>(is_bad.dim()));
  for (size_t dim = index.size(); dim-- > 0;) {
    const int64_t size = is_bad.size(static_cast<int64_t>(dim));
    index[dim] = flat % size;
    flat /= size;
  }
  return index;
}

}  // namespace

std::optional<NotFinite> find_not_finite(const at::Tensor& tensor) {
  if (!tensor.is_floating_point() || tensor.numel() == 0) return std::nullopt;
  const bool is_narrow = tensor.element_size() == 1;  // no arithmetic on 8-bit floats
  const at::Tensor value = is_narrow ? tensor.to(at::kFloat) : tensor;
  const at::Tensor is_bad = at::isfinite(value).logical_not_();
  if (!is_bad.any().item<bool>()) return std::nullopt;
  NotFinite found{first_index(is_bad), 0};
  at::Tensor element = value;
  for (const int64_t i : found.index) element = element.select(0, i);
  found.value = element.to(at::kDouble).item<double>();
  return found;
}

void check_finite(const std::string& source, const std::string& name, const at::Tensor& tensor) {
  const std::optional<NotFinite> bad = find_not_finite(tensor);
  if (bad) throw weights_errors::not_finite(source, name, bad->index, bad->value);
}

}  // namespace s2s

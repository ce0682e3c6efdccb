#pragma once
// Searches for NaN and infinity.

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

namespace s2s {

/// An element that is NaN or infinite.
struct NotFinite {
  std::vector<int64_t> index;
  double value = 0;
};

/// True when no element is NaN or infinite. Integer tensors always are finite. One pass over the
/// bytes for contiguous CPU tensors of the usual types.
bool all_finite(const at::Tensor& tensor);

/// The same for `count` contiguous elements. Returns nothing for types without such a pass.
std::optional<bool> all_finite(const void* data, int64_t count, at::ScalarType type);

/// The first element of `tensor` that is NaN or infinite, or nothing.
std::optional<NotFinite> find_not_finite(const at::Tensor& tensor);

/// Errors: [weights/not-finite] with the tensor, the index and the value. `source`: the file.
void check_finite(const std::string& source, const std::string& name, const at::Tensor& tensor);

}  // namespace s2s

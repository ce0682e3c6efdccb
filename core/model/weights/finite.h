#pragma once
// Looks for numbers that are none.

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

/// True when no element is NaN or infinite; whole numbers never are. One pass over the bytes for
/// contiguous tensors of the usual types in the processor's memory.
bool all_finite(const at::Tensor& tensor);

/// The same of `count` elements that follow each other; nothing for types that have no such pass.
std::optional<bool> all_finite(const void* data, int64_t count, at::ScalarType type);

/// The first element of `tensor` that is NaN or infinite; nothing when there is none.
std::optional<NotFinite> find_not_finite(const at::Tensor& tensor);

/// Errors: [weights/not-finite] with the tensor, the index and the value. `source`: the file.
void check_finite(const std::string& source, const std::string& name, const at::Tensor& tensor);

}  // namespace s2s

#pragma once
// Finds NaN and infinity in tensors.

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

/// Returns true when no element is NaN or infinite. Integer tensors are always finite. Contiguous
/// CPU tensors of the common dtypes need one pass over their bytes.
bool all_finite(const at::Tensor& tensor);

/// Returns true when that holds for all of them. Tensors on a device are reduced without large
/// temporary tensors, and the host waits once for each device.
bool all_finite(const std::vector<at::Tensor>& tensors);

/// Checks `count` contiguous elements. Returns nothing for dtypes without a bit test.
std::optional<bool> all_finite(const void* data, int64_t count, at::ScalarType type);

/// Returns the first element of `tensor` that is NaN or infinite, or nothing.
std::optional<NotFinite> find_not_finite(const at::Tensor& tensor);

/// Errors: [weights/not-finite] with the tensor, the index and the value. `source`: the file.
void check_finite(const std::string& source, const std::string& name, const at::Tensor& tensor);

}  // namespace s2s

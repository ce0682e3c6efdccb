#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace s2s {

/// Returns "[2, 3]", or "[]" for a scalar.
inline std::string shape_text(at::IntArrayRef sizes) {
  std::string text;
  for (const int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

inline std::string shape_text(const at::Tensor& tensor) { return shape_text(tensor.sizes()); }

}  // namespace s2s

#pragma once
// Reads and writes arrays in NumPy's .npy format.

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

namespace s2s::files {

/// Parses versions 1 to 3 with float16/32/64, integers or booleans, in both byte orders, and in C
/// or Fortran order. `place` is for messages. Errors: [data/npy].
at::Tensor parse_npy(std::string_view bytes, const std::string& place);

/// Writes what numpy.save writes for an array in C order (version 1).
/// Errors: [data/npy] for other element types.
std::string format_npy(const at::Tensor& array);

}  // namespace s2s::files

#pragma once
// Arrays in NumPy's .npy format.

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

namespace s2s::files {

/// float16/32/64, integers and booleans, either byte order, C or Fortran order, versions 1 to 3.
/// `place`: for messages. Errors: [data/npy].
at::Tensor parse_npy(std::string_view bytes, const std::string& place);

/// As numpy.save writes an array in C order (version 1). Errors: [data/npy] for other element
/// types.
std::string format_npy(const at::Tensor& array);

}  // namespace s2s::files

#pragma once
// The kernels' files as text.

#include <string>
#include <string_view>

namespace s2s {

/// The text of one file ("add_rms_norm.cu").
std::string_view cuda_source(std::string_view name);

namespace cuda {

/// The text of a kernel's file with elements.cuh in it, for a compiler that finds no files.
std::string kernel_text(std::string_view name);

}  // namespace cuda
}  // namespace s2s

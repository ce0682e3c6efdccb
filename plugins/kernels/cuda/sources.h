#pragma once

#include <string_view>

namespace s2s {

/// The text of a kernel's file ("add_rms_norm.cu").
std::string_view cuda_source(std::string_view name);

}  // namespace s2s

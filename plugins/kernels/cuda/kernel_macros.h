#pragma once
// What the kernels' files are compiled with, and what limits it.

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

namespace s2s::cuda {

/// Bytes of one access to memory, and the alignment that it needs.
constexpr int64_t kLoadBytes = 16;

/// The number of a dtype in elements.cuh. Returns nothing for dtypes that the kernels lack.
std::optional<int> type_number(c10::ScalarType type);

/// "-DS2S_NAME=value".
std::string define(const char* name, int64_t value);

/// Elements of one access where rows of `row` elements of these dtypes are read side by side: as
/// many as the widest one allows, or 1 if rows do not consist of such accesses.
int64_t elements_per_load(std::initializer_list<c10::ScalarType> types, int64_t row,
                          bool is_aligned);

}  // namespace s2s::cuda

#include "kernel_macros.h"

#include <algorithm>

namespace s2s::cuda {

std::optional<int> type_number(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float:
      return 0;
    case c10::ScalarType::BFloat16:
      return 1;
    case c10::ScalarType::Half:
      return 2;
    default:
      return std::nullopt;
  }
}

std::string define(const char* name, int64_t value) {
  return std::string("-DS2S_") + name + "=" + std::to_string(value);
}

int64_t elements_per_load(std::initializer_list<c10::ScalarType> types, int64_t row,
                          bool is_aligned) {
  size_t widest = 0;
  for (const c10::ScalarType type : types) widest = std::max(widest, c10::elementSize(type));
  const int64_t count = kLoadBytes / static_cast<int64_t>(widest);
  return is_aligned && row % count == 0 ? count : 1;
}

}  // namespace s2s::cuda

#pragma once
// Numbers of things in sentences.

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace s2s {

/// "1 cut", "2 cuts"
inline std::string counted(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace s2s

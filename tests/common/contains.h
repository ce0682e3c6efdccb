#pragma once

#include <string>

namespace s2s::test {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace s2s::test

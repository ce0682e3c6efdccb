#pragma once
// The characters of a JSON text that stand outside its strings.

#include <cstddef>
#include <string_view>

namespace s2s {

/// Calls visit(character) for each, in order, until it returns false. True when it never did. The
/// text may be broken, or no JSON at all.
template <class Visit>
bool scan_json(std::string_view text, const Visit& visit) {
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && !visit(c)) {
      return false;
    }
  }
  return true;
}

}  // namespace s2s

#pragma once
// Formats ranks for messages.

#include <cstdint>
#include <string>
#include <vector>

namespace s2s {

/// Returns "0-2, 5".
inline std::string rank_list(const std::vector<int64_t>& ranks) {
  std::string text;
  for (size_t first = 0; first < ranks.size();) {
    size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(ranks[first]);
    if (last > first) {
      text += last == first + 1 ? ", " : "-";
      text += std::to_string(ranks[last]);
    }
    first = last + 1;
  }
  return text;
}

}  // namespace s2s

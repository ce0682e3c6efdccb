#include "base/foreign_json.h"

#include <vector>

#include "base/json_scan.h"

namespace s2s {

bool has_wide_objects(std::string_view text, size_t max_members) {
  std::vector<size_t> members = {0};  // of each level that is open
  size_t comparisons = 0;
  const bool is_narrow = scan_json(text, [&](char c) {
    if (c == '[' || c == '{') {
      members.push_back(0);
    } else if (c == ']' || c == '}') {
      if (members.size() > 1) members.pop_back();
    } else if (c == ':') {
      comparisons += members.back()++;
      return comparisons <= max_members * (max_members - 1) / 2;
    }
    return true;
  });
  return !is_narrow;
}

}  // namespace s2s

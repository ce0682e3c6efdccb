#include "base/foreign_json.h"

#include <vector>

#include "base/json_scan.h"

namespace s2s {

bool has_wide_object(std::string_view text, size_t max_members) {
  std::vector<size_t> members = {0};  // of each level that is open
  const bool is_narrow = scan_json(text, [&](char c) {
    if (c == '[' || c == '{') {
      members.push_back(0);
    } else if (c == ']' || c == '}') {
      if (members.size() > 1) members.pop_back();
    } else if (c == ':') {
      return ++members.back() <= max_members;
    }
    return true;
  });
  return !is_narrow;
}

}  // namespace s2s

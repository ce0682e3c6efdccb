#include "base/foreign_json.h"

#include <vector>

namespace s2s {
namespace {

/// Of the characters of a JSON text that stand outside its strings, calls visit(character) for
/// each, in order, until it returns false. True when it never did. The text may be broken, or no
/// JSON at all.
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

}  // namespace

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

bool is_json_depth_within(std::string_view text, int depth) {
  int level = 0;
  return scan_json(text, [&](char c) {
    if (c == '[' || c == '{') ++level;
    if (c == ']' || c == '}') --level;
    return level <= depth;
  });
}

}  // namespace s2s

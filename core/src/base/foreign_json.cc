#include "base/foreign_json.h"

#include <vector>

namespace s2s {

bool has_wide_object(std::string_view text, size_t max_members) {
  std::vector<size_t> members = {0};  // of each level that is open
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      members.push_back(0);
    } else if (c == ']' || c == '}') {
      if (members.size() > 1) members.pop_back();
    } else if (c == ':' && ++members.back() > max_members) {
      return true;
    }
  }
  return false;
}

}  // namespace s2s

#include "base/foreign_json.h"

#include <algorithm>
#include <vector>

#include "base/json_scan.h"

namespace s2s {
namespace {

/// Calls visit(character) for each character outside of strings, in order, until it returns false.
/// Returns whether it never did. The text may be damaged, or not be JSON at all.
template <class Visit>
bool scan_json(std::string_view text, const Visit& visit) {
  JsonScan scan;
  for (const char c : text) {
    if (scan.take(c) && !visit(c)) return false;
  }
  return true;
}

/// The first value of a list or object comes after its bracket, every other one after a comma.
bool begins_value(char c) { return c == '[' || c == '{' || c == ','; }

/// Counts the comparisons in objects that keep the order of their members.
class MemberCount {
 public:
  /// Returns false once all objects take more comparisons than one of kOrderedMembers members.
  bool visit(char c) {
    if (c == '[' || c == '{') {
      members_.push_back(0);
    } else if (c == ']' || c == '}') {
      if (members_.size() > 1) members_.pop_back();
    } else if (c == ':') {
      comparisons_ += members_.back()++;
      return comparisons_ <= kOrderedMembers * (kOrderedMembers - 1) / 2;
    }
    return true;
  }

 private:
  std::vector<size_t> members_ = {0};  // for each open level
  size_t comparisons_ = 0;
};

size_t most_values(std::string_view text, const JsonLimit& limit) {
  const size_t in_proportion = limit.bytes_per_value == 0 ? 0 : text.size() / limit.bytes_per_value;
  return std::max(limit.any_values, in_proportion);
}

}  // namespace

std::optional<std::string> json_refusal(std::string_view text, const JsonLimit& limit,
                                        bool is_ordered) {
  std::optional<std::string> refusal;
  const size_t most = most_values(text, limit);
  size_t values = 1;
  int level = 0;
  MemberCount members;
  scan_json(text, [&](char c) {
    if (c == '[' || c == '{') ++level;
    if (c == ']' || c == '}') --level;
    if (begins_value(c)) ++values;
    if (level > limit.depth) {
      refusal = "it is nested deeper than " + std::to_string(limit.depth) + " levels";
    } else if (values > most) {
      refusal = "it has more than " + std::to_string(most) + " values";
    } else if (is_ordered && !members.visit(c)) {
      refusal = "its objects have more than " + std::to_string(kOrderedMembers) + " members";
    }
    return !refusal;
  });
  return refusal;
}

bool has_more_json_values(std::string_view text, size_t most) {
  size_t values = 1;
  return !scan_json(text, [&](char c) { return !begins_value(c) || ++values <= most; });
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

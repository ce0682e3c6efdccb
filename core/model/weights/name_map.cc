#include "s2s/nn/name_map.h"

#include "base/path_pattern.h"

namespace s2s {

std::optional<std::string> NameMap::to_theirs(const std::string& our_name) const {
  for (const NameRule& rule : rules) {
    if (const auto captures = match_path(rule.ours, our_name)) {
      return fill_pattern(rule.theirs, *captures);
    }
  }
  return std::nullopt;
}

std::optional<std::string> NameMap::to_theirs(
    const std::string& our_name, const std::function<bool(const std::string&)>& is_there) const {
  const std::optional<std::string> first = to_theirs(our_name);
  if (!first || is_there(*first)) return first;
  for (const NameRule& rule : other_spellings) {
    const auto captures = match_path(rule.ours, our_name);
    if (!captures) continue;
    const std::string other = fill_pattern(rule.theirs, *captures);
    if (is_there(other)) return other;
  }
  return first;
}

std::optional<std::string> NameMap::to_ours(const std::string& their_name) const {
  for (const auto* spellings : {&other_spellings, &rules}) {
    for (const NameRule& rule : *spellings) {
      if (const auto captures = match_path(rule.theirs, their_name)) {
        return fill_pattern(rule.ours, *captures);
      }
    }
  }
  return std::nullopt;
}

bool NameMap::is_ignored(const std::string& their_name) const {
  for (const std::string& pattern : ignored) {
    if (match_path(pattern, their_name)) return true;
  }
  return false;
}

}  // namespace s2s

#include "base/path_pattern.h"

#include "s2s/error.h"

namespace s2s {
namespace {

std::string join_from(const std::vector<std::string>& segments, size_t begin) {
  std::string joined;
  for (size_t i = begin; i < segments.size(); ++i) {
    if (i > begin) joined += '.';
    joined += segments[i];
  }
  return joined;
}

}  // namespace

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> segments;
  if (path.empty()) return segments;
  for (size_t begin = 0;;) {
    const size_t dot = path.find('.', begin);
    segments.emplace_back(path.substr(begin, dot - begin));
    if (dot == std::string_view::npos) return segments;
    begin = dot + 1;
  }
}

std::optional<std::vector<std::string>> match_path(std::string_view pattern,
                                                   std::string_view path) {
  const std::vector<std::string> wanted = split_path(pattern);
  const std::vector<std::string> found = split_path(path);
  std::vector<std::string> captures;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i >= found.size()) return std::nullopt;
    if (wanted[i] == "**" && i + 1 == wanted.size()) {
      captures.push_back(join_from(found, i));
      return captures;
    }
    if (wanted[i] == "*") {
      captures.push_back(found[i]);
    } else if (wanted[i] != found[i]) {
      return std::nullopt;
    }
  }
  if (found.size() != wanted.size()) return std::nullopt;
  return captures;
}

std::string fill_pattern(std::string_view pattern, const std::vector<std::string>& captures) {
  std::vector<std::string> segments = split_path(pattern);
  size_t next = 0;
  for (std::string& segment : segments) {
    if (segment != "*" && segment != "**") continue;
    S2S_ASSERT(next < captures.size(), "both sides of a rule have the same wildcards");
    segment = captures[next++];
  }
  S2S_ASSERT(next == captures.size(), "both sides of a rule have the same wildcards");
  return join_from(segments, 0);
}

}  // namespace s2s

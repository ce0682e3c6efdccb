#pragma once
// The one pattern language for dotted paths: `*` matches exactly one segment, a trailing `**` one
// or more. Plans, units, freezing, optimizer groups and name maps all use it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

/// "a.b.c" -> {"a", "b", "c"}; "" -> {}.
std::vector<std::string> split_path(std::string_view path);

/// What each wildcard of `pattern` stood for, in order (`**` as a dotted rest), or nothing when the
/// path does not match.
std::optional<std::vector<std::string>> match_path(std::string_view pattern, std::string_view path);

/// `pattern` with its wildcards replaced by `captures`, in order. Both must have the same count.
std::string fill_pattern(std::string_view pattern, const std::vector<std::string>& captures);

}  // namespace s2s

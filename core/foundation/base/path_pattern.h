#pragma once
// The only pattern language for dotted paths: `*` matches exactly one segment, and a `**` at the
// end matches one or more. Plans, units, freezing, optimizer groups and name maps use it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

/// "a.b.c" -> {"a", "b", "c"}; "" -> {}.
std::vector<std::string> split_path(std::string_view path);

/// Returns what each wildcard of `pattern` matches, in order (for `**` the dotted rest), or nothing
/// if the path does not match.
std::optional<std::vector<std::string>> match_path(std::string_view pattern, std::string_view path);

/// `pattern` with its wildcards replaced by `captures`, in order. Both must have the same count.
std::string fill_pattern(std::string_view pattern, const std::vector<std::string>& captures);

}  // namespace s2s

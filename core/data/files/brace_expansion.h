#pragma once
// Expands patterns of many file names: "audio_{0..127}.tar".

#include <string>
#include <vector>

namespace s2s::files {

/// Returns the names that a pattern expands to, in order. It may have {a,b}, {0..9}, {01..10}
/// (padded), {0..8..2} and {a..f}, several times and nested. Braces without ".." and "," are
/// unchanged, and a backslash has no meaning. NeMo's forms for shards also work: "_OP_0..127_CL_",
/// and ( [ < with ) ] > around a range or a list. In "pipe:" commands only {} and _OP_ _CL_ are
/// expanded.
/// Errors: [data/braces] for unbalanced braces, for more than a million names or 256 MiB, and for a
/// pattern longer than 64 KiB.
/// Source: braceexpand 0.1.7 with escape=False, nemo expand_sharded_filepaths.
std::vector<std::string> expand_shard_pattern(const std::string& pattern);

}  // namespace s2s::files

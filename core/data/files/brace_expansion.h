#pragma once
// Patterns of many file names: "audio_{0..127}.tar".

#include <string>
#include <vector>

namespace s2s::files {

/// What a pattern stands for, in order: {a,b}, {0..9}, {01..10} (padded), {0..8..2}, {a..f}, nested
/// and several. Braces with neither ".." nor "," stay. A backslash means nothing. As NeMo writes
/// shards: also "_OP_0..127_CL_", and ( [ < with ) ] > around a range or a list. Nothing is
/// expanded in "pipe:" commands but {} and _OP_ _CL_. Errors: [data/braces] unbalanced ones; more
/// than a million names or 256 MiB; over 64 KiB long. Source: braceexpand 0.1.7 with escape=False,
/// nemo expand_sharded_filepaths.
std::vector<std::string> expand_shard_pattern(const std::string& pattern);

}  // namespace s2s::files

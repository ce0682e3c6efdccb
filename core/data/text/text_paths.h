#pragma once
// The files that `path` of a text data set stands for.

#include <string>
#include <vector>

namespace s2s::data {

/// `path`: a file, "pipe:CMD", a folder (its .jsonl, .json, .jsonl.gz and .json.gz files), or a
/// pattern (*, ?, [a-z], {a,b}); a file of this very name comes before a pattern. Folders and
/// patterns give their files in alphabetical order. `option`: the data set's, for messages.
/// Errors: [data/text-path] when there is none; [data/text-file] for Parquet and Arrow.
std::vector<std::string> text_paths(const std::string& path, const std::string& option);

}  // namespace s2s::data

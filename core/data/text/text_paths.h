#pragma once
// Expands `path` of a text data set to files.

#include <string>
#include <vector>

namespace s2s::data {

/// `path` is a file, "pipe:CMD", a folder (its .jsonl, .json, .jsonl.gz and .json.gz files), or a
/// pattern (*, ?, [a-z], {a,b}). If a file has exactly this name, it is not a pattern. The files of
/// a folder or pattern are in alphabetical order. `option` names the data set's option in messages.
/// Errors: [data/text-path] when there is no file; [data/text-file] for Parquet and Arrow.
std::vector<std::string> text_paths(const std::string& path, const std::string& option);

}  // namespace s2s::data

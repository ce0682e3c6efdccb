#pragma once
// Files that hold their JSON objects in an array, or each over several lines, in place of one on
// each line.

#include <memory>
#include <string>

#include "files/byte_file.h"

namespace s2s::files {

/// The values as JSON lines, in order, in memory; null for a file of JSON lines or of something
/// else. Line n is the n-th value. Errors: [data/json] for an array or object without an end,
/// [io/file].
std::shared_ptr<const ByteFile> json_values_as_lines(const ByteFile& file);

}  // namespace s2s::files

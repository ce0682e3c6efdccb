#pragma once
// Files whose JSON objects are in an array, or extend over several lines.

#include <memory>
#include <string>

#include "files/byte_file.h"

namespace s2s::files {

/// Returns a file in memory with one value per line, in order. Returns null for a file that already
/// has JSON lines, or that contains something else.
/// Errors: [data/json] for an array or object without an end, [io/file].
std::shared_ptr<const ByteFile> json_values_as_lines(const ByteFile& file);

}  // namespace s2s::files

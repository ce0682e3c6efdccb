#pragma once
// Suggests a file for a path that does not exist.

#include <string>

namespace s2s {

/// The file in the same folder with the name nearest to that of `file`, or "".
std::string nearest_file(const std::string& file);

}  // namespace s2s

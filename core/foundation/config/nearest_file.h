#pragma once
// What a path of a file that does not exist was probably meant to be.

#include <string>

namespace s2s {

/// The file of the same folder whose name is nearest to that of `file`, or "".
std::string nearest_file(const std::string& file);

}  // namespace s2s

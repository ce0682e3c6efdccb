#pragma once
// Configuration files that the user did not write, such as those in checkpoints. They must not
// start commands or programs.

#include <string>

#include "s2s/config.h"

namespace s2s {

/// Distrusts the values of `file` for the rest of this process.
void distrust_file(const std::string& file);

/// True if a value comes from a distrusted file, or may come from one: a text of the environment or
/// of the command line can refer to a value of the file.
bool is_distrusted(const Origin& origin);

}  // namespace s2s

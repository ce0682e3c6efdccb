#pragma once
// Configuration files that the user did not write, as those in checkpoints. What stands in them
// starts no command and no program.

#include <string>

#include "s2s/config.h"

namespace s2s {

/// From now on, this process distrusts what stands in `file`.
void distrust_file(const std::string& file);

/// Whether a value comes from such a file, or may: a text of the environment or of the command line
/// that refers to other values can repeat what such a file says.
bool is_distrusted(const Origin& origin);

}  // namespace s2s

#pragma once
// What can be wrong with the files of a checkpoint.

#include <string>

#include "s2s/error.h"

namespace s2s::checkpoint_errors {

/// [checkpoint/incomplete] a folder without all its files, or with one that cannot be read.
Error incomplete(const std::string& folder, const std::string& file);
/// [checkpoint/damaged] a file that is not as it was written; `what`: how one sees it.
Error damaged(const std::string& path, const std::string& what);

}  // namespace s2s::checkpoint_errors

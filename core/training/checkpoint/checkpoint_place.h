#pragma once
// Which checkpoint a path means.

#include <string>

namespace s2s {

/// `path` itself; of the folder of a run, or of its `checkpoints`, what `last` points at.
/// Errors: [checkpoint/missing] for the folder of a run that has none.
std::string checkpoint_of(const std::string& path);

}  // namespace s2s

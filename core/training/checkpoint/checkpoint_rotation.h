#pragma once
// Which checkpoints stay.

#include <cstdint>
#include <string>
#include <vector>

namespace s2s {

/// The one that was just saved always stays, and beside it: so many of the newest, it among them;
/// or, with `is_monitored`, so many of those whose monitored number is the best. Those without one
/// come after all others, the newest of them first. -1: all stay.
struct Rotation {
  int64_t keep = 1;
  bool is_monitored = false;
  bool is_larger_better = false;
};

/// Removes the others, now that step `saved` is whole; a line for each that has lost its name and
/// could not be removed, which is tried again at the next call. What is not a whole checkpoint
/// neither counts nor goes: a resume would not begin with it. Errors: [io/read], [io/write],
/// std::filesystem::filesystem_error when one keeps its name.
std::vector<std::string> rotate_checkpoints(const std::string& folder, const Rotation& rotation,
                                            int64_t saved);

}  // namespace s2s

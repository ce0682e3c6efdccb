#pragma once
// Which checkpoints stay.

#include <cstdint>
#include <string>

namespace s2s {

/// The newest always stays, and beside it: so many of the newest, it among them; or, with
/// `is_monitored`, so many of those whose monitored number is the best. Those without one come
/// after all others, the newest of them first. -1: all stay.
struct Rotation {
  int64_t keep = 1;
  bool is_monitored = false;
  bool is_larger_better = false;
};

/// Removes the others. Errors: std::filesystem::filesystem_error.
void rotate_checkpoints(const std::string& folder, const Rotation& rotation);

}  // namespace s2s

#include "checkpoint/checkpoint_place.h"

#include <filesystem>

#include "train/train_errors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

/// The folder of checkpoints that a path names, or "".
fs::path checkpoints_of(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path / "checkpoints", ignored)) return path / "checkpoints";
  return fs::is_symlink(path / "last", ignored) ? path : fs::path();
}

}  // namespace

std::string checkpoint_of(const std::string& path) {
  const fs::path folder = checkpoints_of(path);
  if (folder.empty()) return path;
  const fs::path last = folder / "last";
  std::error_code problem;
  const fs::path step = fs::read_symlink(last, problem);
  if (problem || !fs::is_directory(last, problem)) {
    throw_no_checkpoint(path, "it is the folder of a run that has written none yet");
  }
  // Of somebody else's run, the link might lead to weights of yours, which an export would publish.
  if (step.has_parent_path() || step == "..") {
    throw_no_checkpoint(path, "its `last` leads out of " + folder.string());
  }
  return (folder / step).string();
}

}  // namespace s2s

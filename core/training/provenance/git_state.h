#pragma once
// What git knows of the work tree that a run was started in.

#include <filesystem>
#include <string>
#include <vector>

namespace s2s::run {

struct GitState {
  std::string root;    // the work tree; "" when there is none
  std::string branch;  // "" when HEAD is detached
  std::string commit;  // in hexadecimal; "" when there is none
  /// Tracked files that differ from the index, and those that are missing. Relative to `root`.
  std::vector<std::string> modified, missing;
  /// True when the index may hold changes that are not committed (`git add`).
  bool may_have_staged = false;
  std::string not_read;  // why the index was not read; "" when it was
};

/// Reads the files of git directly: a `git` program found through PATH, or one that the
/// configuration of a foreign work tree names, may be untrusted and may block. Linked work trees
/// and submodules are supported. No commit is found with another reference format (reftable).
/// Source: git's Documentation/gitformat-index.txt.
GitState read_git_state(const std::filesystem::path& folder);

}  // namespace s2s::run

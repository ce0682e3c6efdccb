#pragma once
// The folder `snapshot` of a run: what the run was started with, beside its configuration.

#include <functional>
#include <string>
#include <vector>

#include "train/run_folder.h"

namespace s2s::run {

/// Writes the files of the last start, in place of those before:
///   environment.json   recorded_environment (recorded_variables.h), readable by the owner
///   packages.json      the shared libraries of the process, with the file that each is and its
///                      build id; the operating system
///   git.json           work tree, branch, commit, tracked files that differ from git's index
///   modified/          copies of these files, up to 1 MiB each and 16 MiB in all
///   files/             copies of `files` (exp_manager.files_to_copy)
/// Checkpoints do not contain the snapshot. `warn` receives what could not be written.
/// Errors: [run/folder] for a file of `files` that cannot be copied.
void write_snapshot(const RunFolder& folder, const std::vector<std::string>& files,
                    const std::function<void(const std::string&)>& warn);

}  // namespace s2s::run

#pragma once
// The git commit of a folder, from git's files: PATH's git would be a program of whoever made the
// folder that one stands in, and may wait for ever.

#include <filesystem>
#include <string>

namespace s2s::run {

/// The commit that HEAD of the work tree around `folder` names, in hexadecimal; "" when there is
/// none, or git keeps its references in another way (reftable). Work trees and submodules count.
std::string git_commit_of(const std::filesystem::path& folder);

}  // namespace s2s::run

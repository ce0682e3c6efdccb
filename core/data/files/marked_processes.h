#pragma once
// Processes that have a mark in their environment. A program can leave its process group and its
// session, and its parent can end before it; the environment that it inherited remains.

#include <string>
#include <vector>

namespace s2s::files {

/// Returns "S2S_COMMAND_MARK=" and a random text.
std::string new_mark();
/// Returns this process's environment with the mark added, for a new process. It is valid as long
/// as the environment and `mark` are.
std::vector<char*> environment_with(std::string& mark);
/// Kills all other processes of this account that have the mark. Processes that removed it from
/// their environment are not found.
void kill_marked(const std::string& mark);

}  // namespace s2s::files

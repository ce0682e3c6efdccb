#pragma once
// Processes that carry a mark in their environment. A program can leave its process group and its
// session, and its parent can end before it; what it inherited stays.

#include <string>
#include <vector>

namespace s2s::files {

/// "S2S_COMMAND_MARK=" and a random text.
std::string new_mark();
/// This process's environment with the mark, for a new process. Valid as long as both.
std::vector<char*> environment_with(std::string& mark);
/// Kills all processes of this account that have the mark, this one excepted. Those that removed it
/// from their environment stay.
void kill_marked(const std::string& mark);

}  // namespace s2s::files

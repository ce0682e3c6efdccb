#pragma once
// What s2s-run launch ssh and pdsh start on each machine.

#include <string>
#include <vector>

#include "launch/remote_launch.h"

namespace s2s::launch {

/// The line of a shell that starts the ranks of a host. It holds no variable and no secret.
/// `node`: its number, or "%n" for pdsh. `tag`: of this start; it names the file of the process's
/// number. `num_bytes`: of the lines that export the variables (node_environment.h).
std::string node_command(const RemoteLaunchSettings& settings, const std::string& node,
                         const std::string& tag, size_t num_bytes);

/// The file on a machine that holds the number of its launcher's process.
std::string process_file(const std::string& tag, const std::string& node);

std::vector<std::string> names_of(const std::vector<HostSlots>& hosts);

}  // namespace s2s::launch

#pragma once
// How variables get to the machines of a run. All users of a machine see the arguments of its
// processes, so names and values go through standard input.

#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "launch/exported_environment.h"
#include "launch/remote_shell.h"

namespace s2s::launch {

/// Lines of a shell that set and export the variables.
std::string export_lines(const Assignments& environment);

/// The command of a shell that reads `num_bytes` of such lines: from its input (ssh), or from the
/// file that deliver_environment has written, which it removes (pdsh, which passes on no input).
/// `tag`: of this start, and no secret. `node`: the number of the host, or "%n" for pdsh.
std::string reading_command(const RemoteShell& shell, const std::string& tag,
                            const std::string& node, size_t num_bytes);

/// The command of a shell that removes the file, where reading_command did not run.
std::string removing_command(const std::string& tag, const std::string& node);

struct Undelivered {
  std::string hosts;  // "worker-0, worker-1"; "": all have it
  int code = 0;       // of the program that connects
};

/// Writes the lines into a file of each host that only its owner can read. Ends early if
/// `is_stopped`. Errors: [launch/environment] if the module of pdsh has no way for input.
Undelivered deliver_environment(const RemoteShell& shell, const std::vector<std::string>& hosts,
                                const std::string& tag, const std::string& lines,
                                const sigset_t& mask, const std::function<bool()>& is_stopped);

/// `exec sh -c COMMAND`: the login shell of a machine may be another one.
std::string in_posix_shell(const std::string& command);

}  // namespace s2s::launch

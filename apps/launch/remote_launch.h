#pragma once
// s2s-run launch ssh and pdsh: runs the ranks on several machines. On each, `s2s-run launch node`
// starts them and tells this launcher which rank failed first.

#include <cstdint>
#include <string>
#include <vector>

#include "launch/exported_environment.h"
#include "launch/hostfile.h"
#include "launch/remote_shell.h"

namespace s2s::launch {

struct RemoteLaunchSettings {
  RemoteShell shell;
  std::vector<HostSlots> hosts;
  std::string master_host;  // "": the first host
  int master_port = 0;      // 0: one that depends on this start
  Assignments environment;
  double grace_s = 10;
  std::string log_folder;
  std::string program;             // path on every machine
  std::string folder;              // where it starts, on every machine
  std::vector<std::string> words;  // the command of each rank
};

/// What launch_remote would start: for each program its words, and the line of a shell below, with
/// the names of the variables.
std::string shown_commands(const RemoteLaunchSettings& settings);

/// Starts the ranks, forwards signals and waits. Exit codes and messages are those of launch_local,
/// with [launch/node-failed] and exit code 7 for a machine that cannot be reached.
int launch_remote(const RemoteLaunchSettings& settings);

}  // namespace s2s::launch

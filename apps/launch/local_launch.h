#pragma once
// s2s-run launch local: runs the ranks as processes on this machine.

#include <cstdint>
#include <string>
#include <vector>

namespace s2s::launch {

struct LocalLaunchSettings {
  int num_ranks = 1;
  int restarts = 0;        // number of restarts after a failure
  double grace_s = 10;     // time between SIGTERM and SIGKILL
  std::string log_folder;  // for the output of all ranks except rank 0; "": standard error
  std::string program;
  std::vector<std::string> words;  // arguments of each rank's program
};

/// Starts the ranks, forwards signals (SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2) and waits. When a
/// rank fails, asks the others to stop, and kills them after the grace time. Returns 0, or the exit
/// code of the rank that failed first (128 plus the number for a signal).
int launch_local(const LocalLaunchSettings& settings);

}  // namespace s2s::launch

#pragma once
// s2s-run launch local: the ranks of a run as processes of this machine.

#include <cstdint>
#include <string>
#include <vector>

namespace s2s::launch {

struct LocalLaunchSettings {
  int num_ranks = 1;
  int restarts = 0;        // how often the run is started again after a failure
  double grace_s = 10;     // from the request to stop to the kill
  std::string log_folder;  // of all ranks but the first; "": standard error
  std::string program;
  std::vector<std::string> words;  // what each rank runs
};

/// Starts the ranks, hands on the signals that it gets (SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2),
/// and waits. When a rank fails, the others are asked to stop, and killed after the grace time.
/// Returns 0, or the code of the rank that failed first (128 and the number for a signal).
/// Errors: [launch/port], [io/write].
int launch_local(const LocalLaunchSettings& settings);

}  // namespace s2s::launch

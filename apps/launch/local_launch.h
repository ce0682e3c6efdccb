#pragma once
// Runs the ranks of this machine as processes: all ranks of a run (s2s-run launch local), or those
// of one machine of several (s2s-run launch node).

#include <cstdint>
#include <string>
#include <vector>

namespace s2s::launch {

/// The place of this machine in a run on several machines.
struct NodeOfRun {
  int first_rank = 0;
  int world_size = 0;
  std::string host;  // where ranks meet
  uint16_t port = 0;
  std::string devices;   // CUDA_VISIBLE_DEVICES of the ranks; "": unchanged
  bool reports = false;  // writes records of its ranks for the launcher of all machines
  bool ends_with_input =
      false;  // stops when standard input ends, with the launcher of all machines
};

struct LocalLaunchSettings {
  int num_ranks = 1;     // on this machine
  bool is_node = false;  // `node` counts
  NodeOfRun node;
  int restarts = 0;     // number of restarts after a failure
  int min_ranks = 0;    // above 0: after a failure, starts again with one rank less, down to it
  double rejoin_s = 0;  // above 0: how long fewer ranks run until all are started again
  int retry_code = 0;   // above 0: the exit code for failures that a new start may fix, and for 8
  double grace_s = 10;  // time between SIGTERM and SIGKILL
  std::string log_folder;  // for the output of all ranks except rank 0; "": standard error
  std::string program;
  std::vector<std::string> words;  // arguments of each rank's program
};

/// Starts the ranks, forwards signals (SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2) and waits. When a
/// rank fails, asks the others to stop, and kills them after the grace time. Returns 0, or the exit
/// code of the rank that failed first (128 plus the number for a signal).
int launch_local(const LocalLaunchSettings& settings);

}  // namespace s2s::launch

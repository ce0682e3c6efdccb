#pragma once
// The entry of a Ray job.

#include <string>
#include <vector>

namespace s2s::launch {

struct RayJob {
  int num_ranks = 8;                     // of all nodes
  double num_gpus = 1, num_cpus = 1;     // of each rank
  std::vector<std::string> environment;  // NAME=VALUE
  std::string program = "s2s-run";
  std::vector<std::string> words;
};

/// A Python program that reserves a placement for each rank and starts the rank there. It exits
/// with the code of the rank that failed first: ranks that only lost another one (7) do not count,
/// if there is another.
std::string ray_entry(const RayJob& job);

}  // namespace s2s::launch

#pragma once
// The batch script of a run on a SLURM cluster.

#include <optional>
#include <string>
#include <vector>

#include "launch/container.h"

namespace s2s::launch {

struct SlurmJob {
  std::string style =
      "task";  // task: srun starts each rank; torchrun, node: a launcher on each node
  std::string name = "s2s";
  int num_nodes = 1;
  int num_ranks = 8;  // on each node
  int num_gpus = -1;  // on each node; -1: one for each rank, 0: CPUs
  int num_cpus = 8;   // for each rank
  std::string time = "24:00:00";
  std::string partition, account, memory, output = "%x-%j.out";
  int warning_s = 300;                  // how long before the time limit the run is asked to stop
  std::vector<std::string> directives;  // more #SBATCH options
  std::vector<std::string> modules;
  std::vector<std::string> environment;  // NAME=VALUE
  Container container;
  std::string strategy;  // "": what `words` say
  std::string program = "s2s-run";
  std::vector<std::string> words;  // the command of each rank
  std::string written_by;          // the command that wrote the script

  int gpus_of_node() const { return num_gpus < 0 ? num_ranks : num_gpus; }
};

/// The script. Its usage: sbatch FILE [SEED] [KEY=VALUE...]; a whole number as the first argument
/// is the data seed, as auto_launcher_with_seed.sh passes it. After exit code 8 it requeues itself,
/// or, with a SEED, leaves the rest to the next job of the row. Errors: [launch/environment] for a
/// variable that must not be set for the strategy or has an outdated name, [launch/job] for a
/// command or a value that cannot be right.
std::string slurm_script(const SlurmJob& job);

}  // namespace s2s::launch

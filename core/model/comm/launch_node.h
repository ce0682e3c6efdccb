#pragma once
// The place of a machine in a run on several machines, for a launcher that runs once on each of
// them: options, or the variables of Kubernetes, SLURM or Open MPI.

#include <cstdint>
#include <optional>
#include <string>

#include "comm/launch_variables.h"

namespace s2s {

struct NodeEnvironment {
  std::string source;  // "--node-rank", "PET_NODE_RANK", ...
  int64_t node = 0;
  int64_t num_nodes = 1;
  std::optional<int64_t> ranks_per_node;  // where the launcher gives it
  std::string host = "127.0.0.1";         // host of node 0
  uint16_t port = 0;                      // 0: not given
};

/// What the command line gives; it comes before the environment.
struct NodeOptions {
  std::optional<int64_t> node;
  std::optional<int64_t> num_nodes;
  std::string host;
  std::optional<int64_t> port;
};

/// Reads, in this order: the options; PET_NNODES and PET_NODE_RANK (Kubeflow, torchrun's own);
/// SLURM_NODEID of a step; OMPI_COMM_WORLD_RANK; JOB_COMPLETION_INDEX with NUM_NODES; RANK and
/// WORLD_SIZE, which a PyTorchJob sets for each pod. Without any, the run has one node.
/// Errors: [comm/environment] with the variable, its value and what was expected.
NodeEnvironment read_node_environment(const NodeOptions& options,
                                      const ReadVariable& read = process_variable);

}  // namespace s2s

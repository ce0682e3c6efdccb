#include "comm/launch_node.h"

#include <fmt/format.h>

namespace s2s {
namespace {

void read_counts(const LaunchVariables& variables, const char* node, const char* count,
                 NodeEnvironment& out) {
  out.source = node;
  out.num_nodes = variables.number(count, 1, kMaxRanks);
  out.node = variables.number(node, 0, out.num_nodes - 1);
}

void read_address(const LaunchVariables& variables, const char* host, const char* port,
                  NodeEnvironment& out) {
  if (const auto name = variables.text(host)) out.host = *name;
  out.port = static_cast<uint16_t>(variables.number_or(port, out.port, 1, 65535));
}

NodeEnvironment from_pods(const LaunchVariables& variables) {
  const std::string nodes = *variables.text("PET_NNODES");
  if (nodes.find(':') != std::string::npos) {
    throw comm_errors::environment(
        fmt::format("PET_NNODES={}: a number of nodes that varies needs torchrun's rendezvous",
                    nodes),
        "start with 'torchrun --no-python s2s-run train ...', or give a fixed number of nodes");
  }
  NodeEnvironment out;
  read_counts(variables, "PET_NODE_RANK", "PET_NNODES", out);
  // auto, gpu and cpu leave the number to the launcher.
  const std::string processes = variables.text("PET_NPROC_PER_NODE").value_or("auto");
  if (processes != "auto" && processes != "gpu" && processes != "cpu") {
    out.ranks_per_node = variables.number("PET_NPROC_PER_NODE", 1, kMaxRanks);
  }
  read_address(variables, "PET_MASTER_ADDR", "PET_MASTER_PORT", out);
  return out;
}

NodeEnvironment from_slurm(const LaunchVariables& variables) {
  NodeEnvironment out;
  read_counts(variables, "SLURM_NODEID", "SLURM_STEP_NUM_NODES", out);
  if (variables.number("SLURM_STEP_NUM_TASKS", 1, kMaxRanks) != out.num_nodes) {
    throw comm_errors::environment(
        fmt::format("SLURM_STEP_NUM_TASKS={} on {} nodes: srun started several launchers on a node",
                    *variables.text("SLURM_STEP_NUM_TASKS"), out.num_nodes),
        "give srun --ntasks-per-node=1, or start the ranks with srun and without this launcher");
  }
  if (const auto nodes = variables.text("SLURM_STEP_NODELIST")) out.host = first_host(*nodes);
  const auto job = static_cast<uint64_t>(variables.number_or("SLURM_JOB_ID", 0, 0, INT64_MAX));
  const auto step = static_cast<uint64_t>(variables.number_or("SLURM_STEP_ID", 0, 0, INT64_MAX));
  out.port = port_for(job * 16 + step);
  return out;
}

NodeEnvironment from_mpi(const LaunchVariables& variables) {
  NodeEnvironment out;
  read_counts(variables, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", out);
  out.port = port_for_name(variables.text("PMIX_NAMESPACE").value_or(""));
  return out;
}

NodeEnvironment place_of(const NodeOptions& options, const LaunchVariables& variables) {
  NodeEnvironment out;
  if (options.node || options.num_nodes) {
    out.source = "--node-rank";
    out.num_nodes = options.num_nodes.value_or(1);
    out.node = options.node.value_or(0);
    return out;
  }
  if (variables.has("PET_NNODES") && variables.has("PET_NODE_RANK")) return from_pods(variables);
  if (variables.has("SLURM_STEP_NUM_NODES") && variables.has("SLURM_NODEID")) {
    return from_slurm(variables);
  }
  if (variables.has("OMPI_COMM_WORLD_RANK")) return from_mpi(variables);
  if (variables.has("JOB_COMPLETION_INDEX") && variables.has("NUM_NODES")) {
    read_counts(variables, "JOB_COMPLETION_INDEX", "NUM_NODES", out);
  } else if (variables.has("RANK")) {
    read_counts(variables, "RANK", "WORLD_SIZE", out);
  }
  return out;
}

}  // namespace

NodeEnvironment read_node_environment(const NodeOptions& options, const ReadVariable& read) {
  const LaunchVariables variables(read);
  NodeEnvironment out = place_of(options, variables);
  read_address(variables, "MASTER_ADDR", "MASTER_PORT", out);
  if (!options.host.empty()) out.host = options.host;
  if (options.port) out.port = static_cast<uint16_t>(*options.port);
  if (out.node < 0 || out.node >= out.num_nodes) {
    throw comm_errors::environment(
        fmt::format("--node-rank {}: expected a number from 0 to {}", out.node, out.num_nodes - 1),
        "number the nodes from 0, and give all of them the same --num-nodes");
  }
  if (out.num_nodes > 1 && out.port == 0) {
    throw comm_errors::environment(
        fmt::format("{} nodes, and no port where they meet", out.num_nodes),
        "give all nodes the same --master-addr and --master-port, or set MASTER_ADDR and "
        "MASTER_PORT");
  }
  return out;
}

}  // namespace s2s

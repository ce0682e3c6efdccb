#include "comm/launch_environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <vector>

namespace s2s {
namespace {

constexpr size_t kMaxTokenBytes = 1024;

/// Reads rank and world size from two variables, and local rank and local size from two more.
void read_ranks(const LaunchVariables& variables, const char* rank, const char* size,
                LaunchEnvironment& out) {
  out.size = variables.number(size, 1, kMaxRanks);
  out.rank = variables.number(rank, 0, out.size - 1);
}

void read_local_ranks(const LaunchVariables& variables, const char* rank, const char* size,
                      LaunchEnvironment& out) {
  out.local_size = variables.number_or(size, 1, 1, out.size);
  out.local_rank = variables.number_or(rank, 0, 0, kMaxRanks);
}

void read_address(const LaunchVariables& variables, LaunchEnvironment& out) {
  if (const auto host = variables.text("MASTER_ADDR")) out.host = *host;
  if (variables.has("MASTER_PORT")) {
    out.port = static_cast<uint16_t>(variables.number("MASTER_PORT", 1, 65535));
  }
}

LaunchEnvironment from_torchrun(const LaunchVariables& variables) {
  LaunchEnvironment out;
  out.launcher = variables.has("S2S_LAUNCH_LOCAL")  ? Launcher::kLocal
                 : variables.has("S2S_LAUNCH_NODE") ? Launcher::kNode
                                                    : Launcher::kTorchrun;
  read_ranks(variables, "RANK", "WORLD_SIZE", out);
  read_local_ranks(variables, "LOCAL_RANK", "LOCAL_WORLD_SIZE", out);
  if (out.size > 1) variables.number("MASTER_PORT", 1, 65535);
  read_address(variables, out);
  out.launcher_has_store = variables.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  // Each of torchrun's agents counts its own restarts, and one that came later counts fewer.
  if (out.launcher == Launcher::kLocal) {
    out.attempt = variables.number_or("TORCHELASTIC_RESTART_COUNT", 0, 0, kMaxRanks);
  }
  return out;
}

/// Reads the variables of Open MPI, or those of MPICH and Intel MPI (Hydra).
LaunchEnvironment from_mpi(const LaunchVariables& variables) {
  LaunchEnvironment out;
  out.launcher = Launcher::kMpi;
  if (variables.has("OMPI_COMM_WORLD_RANK")) {
    read_ranks(variables, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", out);
    read_local_ranks(variables, "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", out);
  } else {
    read_ranks(variables, "PMI_RANK", "PMI_SIZE", out);
    read_local_ranks(variables, "MPI_LOCALRANKID", "MPI_LOCALNRANKS", out);
  }
  // Two runs on one machine must not use the same port. All ranks of a run have the same job name.
  out.port = port_for_name(variables.text("PMIX_NAMESPACE").value_or(""));
  read_address(variables, out);
  if (out.local_size < out.size && !variables.has("MASTER_ADDR")) {
    throw comm_errors::environment(
        "mpirun started processes on several machines, and MASTER_ADDR is not set",
        "name the machine of rank 0: mpirun -x MASTER_ADDR=$(hostname) ...");
  }
  return out;
}

/// Returns the entry of a node in "2(x3),1": two tasks on each of three nodes and one on a fourth.
int64_t tasks_on_node(const std::string& list, int64_t node) {
  std::istringstream entries(list);
  std::string entry;
  int64_t tasks = 0;
  while (node >= 0 && std::getline(entries, entry, ',')) {
    tasks = std::atoll(entry.c_str());
    const size_t repeat = entry.find("(x");
    node -= repeat == std::string::npos ? 1 : std::atoll(entry.c_str() + repeat + 2);
  }
  return tasks;
}

LaunchEnvironment from_slurm(const LaunchVariables& variables) {
  LaunchEnvironment out;
  out.launcher = Launcher::kSlurm;
  read_ranks(variables, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", out);
  out.local_rank = variables.number_or("SLURM_LOCALID", 0, 0, kMaxRanks);
  const auto tasks = variables.text("SLURM_STEP_TASKS_PER_NODE");
  const int64_t node = variables.number_or("SLURM_NODEID", 0, 0, kMaxRanks);
  out.local_size = std::max(tasks_on_node(tasks.value_or("1"), node), out.local_rank + 1);
  const auto nodes = variables.text("SLURM_STEP_NODELIST");
  if (nodes) out.host = first_host(*nodes);
  const auto job = static_cast<uint64_t>(variables.number_or("SLURM_JOB_ID", 0, 0, INT64_MAX));
  const auto step = static_cast<uint64_t>(variables.number_or("SLURM_STEP_ID", 0, 0, INT64_MAX));
  out.port = port_for(job * 16 + step);
  out.attempt = variables.number_or("SLURM_RESTART_COUNT", 0, 0, kMaxRanks);
  read_address(variables, out);
  return out;
}

/// One process for each pod. Where a pod has several, a launcher in the pod starts them.
LaunchEnvironment from_pods(const LaunchVariables& variables) {
  const std::string processes = variables.text("PET_NPROC_PER_NODE").value_or("1");
  if (processes != "1") {
    throw comm_errors::environment(
        fmt::format("PET_NPROC_PER_NODE={}: this pod has several ranks, and nothing started them",
                    processes),
        "let the container run 's2s-run launch node -- train ...', or 'torchrun --no-python "
        "s2s-run train ...'");
  }
  LaunchEnvironment out;
  out.launcher = Launcher::kPods;
  read_ranks(variables, "PET_NODE_RANK", "PET_NNODES", out);
  if (out.size > 1) variables.number("PET_MASTER_PORT", 1, 65535);
  out.port = static_cast<uint16_t>(variables.number_or("PET_MASTER_PORT", 0, 1, 65535));
  if (const auto host = variables.text("PET_MASTER_ADDR")) out.host = *host;
  return out;
}

/// The index is Kubernetes's; the manifest sets WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
LaunchEnvironment from_indexed_job(const LaunchVariables& variables) {
  LaunchEnvironment out;
  out.launcher = Launcher::kIndexedJob;
  read_ranks(variables, "JOB_COMPLETION_INDEX", "WORLD_SIZE", out);
  if (out.size > 1) variables.number("MASTER_PORT", 1, 65535);
  read_address(variables, out);
  return out;
}

}  // namespace

const char* to_string(Launcher launcher) {
  constexpr const char* kNames[] = {"none",     "s2s-run launch local",     "s2s-run launch node",
                                    "torchrun", "a pod of Kubeflow",        "mpirun",
                                    "srun",     "an indexed Kubernetes Job"};
  return kNames[static_cast<size_t>(launcher)];
}

namespace {

/// A launcher, the variables that show it, and how to read them.
struct Sign {
  const char* name;
  std::vector<const char*> variables;
  LaunchEnvironment (*read)(const LaunchVariables&);

  bool is_seen(const LaunchVariables& of) const {
    return std::all_of(variables.begin(), variables.end(),
                       [&of](const char* variable) { return of.has(variable); });
  }
};

/// From the innermost launcher to the outermost. RANK is there before WORLD_SIZE, because scripts
/// set WORLD_SIZE alone for other purposes. A batch script without srun has SLURM_PROCID, too, but
/// it is a single process. A pod of an indexed Job without MASTER_ADDR works alone.
const std::vector<Sign>& signs() {
  static const std::vector<Sign> kSigns = {
      {"torchrun", {"RANK", "LOCAL_RANK"}, from_torchrun},
      {"a pod of Kubeflow", {"PET_NNODES", "PET_NODE_RANK"}, from_pods},
      {"torchrun", {"RANK"}, from_torchrun},
      {"mpirun", {"OMPI_COMM_WORLD_RANK"}, from_mpi},
      {"mpirun", {"PMI_RANK"}, from_mpi},
      {"srun", {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}, from_slurm},
      {"an indexed Kubernetes Job", {"JOB_COMPLETION_INDEX", "MASTER_ADDR"}, from_indexed_job},
  };
  return kSigns;
}

/// "RANK and LOCAL_RANK are set; not used: the variables of mpirun, srun"
std::string reason_for(const Sign& sign, const LaunchVariables& variables) {
  std::string others, last = sign.name;
  for (const Sign& other : signs()) {
    if (other.name == last || other.name == std::string(sign.name)) continue;
    if (!other.is_seen(variables)) continue;
    others += (others.empty() ? "; not used: the variables of " : ", ") + std::string(other.name);
    last = other.name;
  }
  return fmt::format("{} {} set{}", fmt::join(sign.variables, " and "),
                     sign.variables.size() == 1 ? "is" : "are", others);
}

LaunchEnvironment read_place(const LaunchVariables& variables) {
  for (const Sign& sign : signs()) {
    if (!sign.is_seen(variables)) continue;
    LaunchEnvironment launch = sign.read(variables);
    launch.reason = reason_for(sign, variables);
    return launch;
  }
  return {.reason = "no launcher's variables are set"};
}

/// The name of the run. It is equal on all ranks. It differs between runs if the launcher supports
/// it.
std::string job_name(const LaunchVariables& variables, Launcher launcher) {
  const auto text = [&](const char* name) { return variables.text(name).value_or(""); };
  if (launcher == Launcher::kTorchrun) return text("TORCHELASTIC_RUN_ID");
  if (launcher == Launcher::kMpi) return text("PMIX_NAMESPACE");
  // The parts of a heterogeneous job have different job ids.
  const bool is_slurm = launcher == Launcher::kSlurm && !variables.has("SLURM_HET_SIZE");
  return is_slurm ? text("SLURM_JOB_ID") : "";
}

}  // namespace

LaunchEnvironment read_launch_environment(const ReadVariable& read) {
  const LaunchVariables variables(read);
  LaunchEnvironment out = read_place(variables);
  const auto token = variables.text("S2S_JOB_TOKEN");
  if (token && token->size() > kMaxTokenBytes) {
    throw comm_errors::environment(
        fmt::format("S2S_JOB_TOKEN has {} characters", token->size()),
        fmt::format("give one of at most {} characters", kMaxTokenBytes));
  }
  out.token = token ? *token : job_name(variables, out.launcher);
  return out;
}

}  // namespace s2s

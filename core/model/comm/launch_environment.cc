#include "comm/launch_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/number_text.h"
#include "comm/comm_errors.h"

namespace s2s {
namespace {

constexpr int64_t kMaxRanks = 1 << 20;
constexpr size_t kMaxTokenBytes = 1024;
/// Ports below the ephemeral range (Linux: 32768 and above).
constexpr uint64_t kFirstPort = 12000;
constexpr uint64_t kNumPorts = 20000;

class Variables {
 public:
  explicit Variables(const ReadVariable& read) : read_(read) {}

  std::optional<std::string> text(const char* name) const { return read_(name); }
  bool has(const char* name) const { return read_(name).has_value(); }

  /// Reads an integer in [low, high]. Errors: [comm/environment].
  int64_t number(const char* name, int64_t low, int64_t high) const {
    const std::optional<std::string> value = read_(name);
    if (!value) {
      throw comm_errors::environment(fmt::format("the launcher did not set {}", name),
                                     "start the run with torchrun, srun, mpirun or s2s-run launch "
                                     "local, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT");
    }
    const auto out = read_number<int64_t>(*value);
    if (!out || *out < low || *out > high) {
      throw comm_errors::environment(
          fmt::format("{}={}: expected a whole number from {} to {}", name, *value, low, high),
          fmt::format("correct {}, or unset it to run as one process", name));
    }
    return *out;
  }
  int64_t number_or(const char* name, int64_t otherwise, int64_t low, int64_t high) const {
    return has(name) ? number(name, low, high) : otherwise;
  }

 private:
  const ReadVariable& read_;
};

/// Reads rank and world size from two variables, and local rank and local size from two more.
void read_ranks(const Variables& variables, const char* rank, const char* size, LaunchPlace& out) {
  out.size = variables.number(size, 1, kMaxRanks);
  out.rank = variables.number(rank, 0, out.size - 1);
}

void read_local_ranks(const Variables& variables, const char* rank, const char* size,
                      LaunchPlace& out) {
  out.local_size = variables.number_or(size, 1, 1, out.size);
  out.local_rank = variables.number_or(rank, 0, 0, kMaxRanks);
}

uint16_t port_for(uint64_t number) {
  return static_cast<uint16_t>(kFirstPort + number % kNumPorts);
}

void read_address(const Variables& variables, LaunchPlace& out) {
  if (const auto host = variables.text("MASTER_ADDR")) out.host = *host;
  if (variables.has("MASTER_PORT")) {
    out.port = static_cast<uint16_t>(variables.number("MASTER_PORT", 1, 65535));
  }
}

LaunchPlace from_torchrun(const Variables& variables) {
  LaunchPlace out;
  out.launcher = variables.has("S2S_LAUNCH_LOCAL") ? Launcher::kLocal : Launcher::kTorchrun;
  read_ranks(variables, "RANK", "WORLD_SIZE", out);
  read_local_ranks(variables, "LOCAL_RANK", "LOCAL_WORLD_SIZE", out);
  if (out.size > 1) variables.number("MASTER_PORT", 1, 65535);
  read_address(variables, out);
  out.launcher_has_store = variables.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  out.attempt = variables.number_or("TORCHELASTIC_RESTART_COUNT", 0, 0, kMaxRanks);
  return out;
}

/// Reads the variables of Open MPI, or those of MPICH and Intel MPI (Hydra).
LaunchPlace from_mpi(const Variables& variables) {
  LaunchPlace out;
  out.launcher = Launcher::kMpi;
  if (variables.has("OMPI_COMM_WORLD_RANK")) {
    read_ranks(variables, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", out);
    read_local_ranks(variables, "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", out);
  } else {
    read_ranks(variables, "PMI_RANK", "PMI_SIZE", out);
    read_local_ranks(variables, "MPI_LOCALRANKID", "MPI_LOCALNRANKS", out);
  }
  // Two runs on one machine must not use the same port. All ranks of a run have the same job name.
  const std::string job = variables.text("PMIX_NAMESPACE").value_or("");
  uint64_t sum = 0;
  for (const char letter : job) sum = sum * 31 + static_cast<unsigned char>(letter);
  out.port = port_for(sum);
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

LaunchPlace from_slurm(const Variables& variables) {
  LaunchPlace out;
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

}  // namespace

const char* to_string(Launcher launcher) {
  constexpr const char* kNames[] = {"none", "s2s-run launch local", "torchrun", "mpirun", "srun"};
  return kNames[static_cast<size_t>(launcher)];
}

std::optional<std::string> process_variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string first_host(const std::string& host_list) {
  std::string host;
  for (size_t i = 0; i < host_list.size() && host_list[i] != ','; ++i) {
    if (host_list[i] != '[') {
      host += host_list[i];
      continue;
    }
    const size_t number = i + 1;
    const size_t number_end = host_list.find_first_of("-,]", number);
    i = host_list.find(']', number);
    if (i == std::string::npos) break;
    host += host_list.substr(number, number_end - number);
  }
  return host;
}

namespace {

LaunchPlace read_place(const Variables& variables) {
  // Scripts may set WORLD_SIZE alone for other purposes.
  if (variables.has("RANK")) return from_torchrun(variables);
  if (variables.has("OMPI_COMM_WORLD_RANK") || variables.has("PMI_RANK")) {
    return from_mpi(variables);
  }
  // A batch script without srun has SLURM_PROCID too, but it is a single process.
  if (variables.has("SLURM_PROCID") && variables.has("SLURM_STEP_NUM_TASKS")) {
    return from_slurm(variables);
  }
  return {};
}

/// The name of the run. It is equal on all ranks. It differs between runs if the launcher supports
/// it.
std::string job_name(const Variables& variables, Launcher launcher) {
  const auto text = [&](const char* name) { return variables.text(name).value_or(""); };
  if (launcher == Launcher::kTorchrun) return text("TORCHELASTIC_RUN_ID");
  if (launcher == Launcher::kMpi) return text("PMIX_NAMESPACE");
  // The parts of a heterogeneous job have different job ids.
  const bool is_slurm = launcher == Launcher::kSlurm && !variables.has("SLURM_HET_SIZE");
  return is_slurm ? text("SLURM_JOB_ID") : "";
}

}  // namespace

LaunchPlace read_launch_environment(const ReadVariable& read) {
  const Variables variables(read);
  LaunchPlace out = read_place(variables);
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

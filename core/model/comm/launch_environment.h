#pragma once
// Which launcher started this process, and what it says: torchrun, srun, mpirun, `s2s-run launch
// local`, or none. Each has variables of its own; core/docs/guides/parallelism.md lists them.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace s2s {

enum class Launcher { kNone, kLocal, kTorchrun, kMpi, kSlurm };
const char* to_string(Launcher launcher);

/// What the launcher says.
struct LaunchPlace {
  Launcher launcher = Launcher::kNone;
  int64_t rank = 0;
  int64_t size = 1;
  int64_t local_rank = 0;
  int64_t local_size = 1;
  std::string host = "127.0.0.1";  // of rank 0
  uint16_t port = 0;
  bool launcher_has_store = false;  // it listens at `port` itself, no rank does
  int64_t attempt = 0;              // how often the launcher has started the run again
  /// What ranks say to the store of rank 0: S2S_JOB_TOKEN, else the job's name as the launcher
  /// gives it, which keeps other runs out and is no secret.
  std::string token;
  /// "node7:29500"
  std::string address() const { return host + ":" + std::to_string(port); }
};

/// An environment variable, or nothing.
using ReadVariable = std::function<std::optional<std::string>(const char*)>;
std::optional<std::string> process_variable(const char* name);

/// A process that no launcher started is rank 0 of 1. When several launchers left variables the
/// innermost counts: RANK and WORLD_SIZE before mpirun's, mpirun's before srun's.
/// Errors: [comm/environment] with the variable, its value and what was expected.
LaunchPlace read_launch_environment(const ReadVariable& read = process_variable);

/// The first machine of a list as SLURM writes it: "gpu[07-09,12]-a,login" gives "gpu07-a".
std::string first_host(const std::string& host_list);

}  // namespace s2s

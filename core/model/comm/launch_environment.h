#pragma once
// Detects the launcher of this process and reads its variables: torchrun, srun, mpirun, `s2s-run
// launch local`, or none. core/docs/guides/parallelism.md lists the variables.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace s2s {

enum class Launcher { kNone, kLocal, kTorchrun, kMpi, kSlurm };
const char* to_string(Launcher launcher);

struct LaunchPlace {
  Launcher launcher = Launcher::kNone;
  int64_t rank = 0;
  int64_t size = 1;
  int64_t local_rank = 0;
  int64_t local_size = 1;
  std::string host = "127.0.0.1";  // host of rank 0
  uint16_t port = 0;
  bool launcher_has_store = false;  // the launcher listens at `port`, not rank 0
  int64_t attempt = 0;              // number of restarts by the launcher
  /// The token that ranks send to the store of rank 0: S2S_JOB_TOKEN, otherwise the job name. The
  /// job name keeps other runs out, but it is not secret.
  std::string token;
  /// Returns "node7:29500".
  std::string address() const { return host + ":" + std::to_string(port); }
};

/// Reads an environment variable; nothing when it is not set.
using ReadVariable = std::function<std::optional<std::string>(const char*)>;
std::optional<std::string> process_variable(const char* name);

/// Without a launcher, the process is rank 0 of 1. When several launchers set variables, the
/// innermost one counts: RANK and WORLD_SIZE before mpirun's variables, mpirun's before srun's.
/// Errors: [comm/environment] with the variable, its value and what was expected.
LaunchPlace read_launch_environment(const ReadVariable& read = process_variable);

/// Returns the first host of a SLURM host list: "gpu[07-09,12]-a,login" gives "gpu07-a".
std::string first_host(const std::string& host_list);

}  // namespace s2s

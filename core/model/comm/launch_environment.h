#pragma once
// Detects the launcher of this process and reads its variables: torchrun, srun, mpirun, Kubernetes,
// `s2s-run launch`, or none. core/docs/guides/launching.md lists the variables.

#include <cstdint>
#include <string>

#include "comm/launch_variables.h"

namespace s2s {

enum class Launcher { kNone, kLocal, kNode, kTorchrun, kPods, kMpi, kSlurm, kIndexedJob };
const char* to_string(Launcher launcher);

struct LaunchEnvironment {
  Launcher launcher = Launcher::kNone;
  /// Why this launcher: the variables that decided, and other launchers whose variables are set but
  /// not used: "RANK and LOCAL_RANK are set; not used: srun's variables".
  std::string reason;
  int64_t rank = 0;
  int64_t size = 1;
  int64_t local_rank = 0;
  int64_t local_size = 1;
  std::string host = "127.0.0.1";  // host of rank 0
  uint16_t port = 0;
  bool launcher_has_store = false;  // the launcher listens at `port`, not rank 0
  int64_t attempt = 0;              // number of restarts, where all ranks know the same
  /// The token that ranks send to the store of rank 0: S2S_JOB_TOKEN, otherwise the job name. The
  /// job name keeps other runs out, but it is not secret.
  std::string token;
  /// Returns "node7:29500".
  std::string address() const { return host + ":" + std::to_string(port); }
};

/// Without a launcher, the process is rank 0 of 1. When several launchers set variables, the
/// innermost one counts: RANK and LOCAL_RANK (torchrun, s2s-run launch), then PET_NNODES (a pod of
/// Kubeflow), RANK alone, mpirun's, srun's, JOB_COMPLETION_INDEX.
/// Errors: [comm/environment] with the variable, its value and what was expected.
LaunchEnvironment read_launch_environment(const ReadVariable& read = process_variable);

}  // namespace s2s

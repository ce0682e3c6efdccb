#include "base/thread_errors.h"

namespace s2s {

Error threads_error(const std::string& reason) {
  return {ExitCode::kCheckFailed, "run/threads",
          "the system gives this process no more threads: " + reason +
              "\n  raise the limit (`ulimit -u`, pids.max of the container, TasksMax of the unit), "
              "or start fewer: lower `num_workers`, `--num-jobs` or OMP_NUM_THREADS"};
}

}  // namespace s2s

#pragma once
// Threads beside LibTorch's own.

namespace s2s {

/// From now on, LibTorch's operators that this thread calls run on this thread alone. For worker
/// threads: otherwise each would start a team of threads as large as the machine.
void run_operators_on_this_thread();

}  // namespace s2s

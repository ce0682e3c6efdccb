#pragma once
// How the process handles freed memory.

namespace s2s {

/// Keeps freed memory for the next step instead of giving it back to the system, which would fetch
/// and clear the same pages again every step. For programs that train or generate.
void keep_freed_memory();

/// Gives free memory back to the system, once: after something large has gone for good.
void return_freed_memory();

}  // namespace s2s

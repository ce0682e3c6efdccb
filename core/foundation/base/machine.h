#pragma once
// The machine that a process runs on: its name, its memory, and what happens to freed memory.

#include <cstdint>
#include <string>
#include <string_view>

namespace s2s {

struct MachineMemory {
  double total = 0, available = 0;  // bytes of the machine; 0: unknown
  double limit = 0;                 // bytes that this process may use; 0: no limit
  const char* limit_name = "";      // who says so: "ulimit -v", "the control group's memory.max"
};

/// Reads /proc/meminfo, RLIMIT_AS, RLIMIT_DATA and the control group (version 2) of the process.
MachineMemory machine_memory();

/// "8.6 GB"
std::string gigabytes_text(double bytes);

/// Returns "3.1 of the machine's 25.3 GB are free, and ulimit -v allows this process 8.0 GB", or ""
/// if nothing is known.
std::string memory_text(const MachineMemory& memory);

/// Returns the bytes in LibTorch's message about a failed allocation ("tried to allocate 4096
/// bytes", "Tried to allocate 2.00 GiB"), or 0 if it has none.
double asked_bytes(std::string_view message);

/// Maximum memory that this process has used so far, in bytes.
int64_t peak_memory_bytes();

/// The machine's name, or "?" if it has none.
std::string host_name();

/// Keeps freed memory for the next step instead of giving it back to the system, which would fetch
/// and clear the same pages again every step. For programs that train or generate.
void keep_freed_memory();

/// Returns free memory to the system, once: to be called after a large object is gone for good.
void return_freed_memory();

}  // namespace s2s

#pragma once
// The machine that a process runs on: its name, the memory that there is, and freed memory.

#include <cstdint>
#include <string>
#include <string_view>

namespace s2s {

struct MachineMemory {
  double total = 0, available = 0;  // bytes of the machine; 0: not known
  double limit = 0;                 // bytes that this process may have; 0: none beside those
  const char* limit_name = "";      // who says so: "ulimit -v", "the control group's memory.max"
};

/// Of /proc/meminfo, RLIMIT_AS, RLIMIT_DATA and the control group (version 2) of the process.
MachineMemory machine_memory();

/// "8.6 GB"
std::string gigabytes_text(double bytes);

/// "3.1 of the machine's 25.3 GB are free, and ulimit -v allows this process 8.0 GB"; "" when
/// nothing is known.
std::string memory_text(const MachineMemory& memory);

/// Bytes that LibTorch's message about an allocation that failed names ("tried to allocate 4096
/// bytes", "Tried to allocate 2.00 GiB"); 0 when it names none.
double asked_bytes(std::string_view message);

/// Largest memory this process has used so far, bytes.
int64_t peak_memory_bytes();

/// The machine's name; "?" when it has none.
std::string host_name();

/// Keeps freed memory for the next step instead of giving it back to the system, which would fetch
/// and clear the same pages again every step. For programs that train or generate.
void keep_freed_memory();

/// Gives free memory back to the system, once: after something large has gone for good.
void return_freed_memory();

}  // namespace s2s

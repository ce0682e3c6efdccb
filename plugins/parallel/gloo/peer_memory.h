#pragma once
// Ranks of one machine that read each other's memory, which takes one copy where TCP takes several.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "s2s/kinds/communicator.h"

namespace s2s::gloo {

/// Which ranks of this machine may read each other's memory, with process_vm_readv.
class PeerMemory {
 public:
  /// Finds out by reading. All ranks of the run call it, each with its own `wanted`.
  /// Errors: those of the store.
  PeerMemory(const ProcessPlace& process, c10d::Store& store, bool wanted);

  /// Whether each of these global ranks can read the memory of each other one. All of them get the
  /// same answer.
  bool joins(const std::vector<int64_t>& ranks) const;
  /// Copies memory of a global rank that `joins` has accepted.
  /// Errors: std::runtime_error; it says "remote process exited" if it has.
  void read(int64_t rank, uint64_t from, void* to, size_t num_bytes) const;

 private:
  bool is_here(int64_t rank) const;

  int64_t first_ = 0;                  // the first rank of this machine
  std::vector<pid_t> processes_;       // of the ranks of this machine
  std::vector<std::string> readable_;  // for each of them, '1' for each one that it can read
};

}  // namespace s2s::gloo

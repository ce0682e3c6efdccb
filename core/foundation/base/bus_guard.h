#pragma once
// Files that become shorter while they are mapped: touching what is gone is SIGBUS, which would end
// the process without a word. Whoever maps a file guards the mapping, and the process ends with a
// message and the exit code of bad data. A page that a disk or a server does not give is SIGBUS,
// too: the message says so, and the signal ends the process, so that a launcher starts it again.
// Where bytes are copied anyway, pread says it as an error.

#include <cstddef>
#include <string>

namespace s2s {

/// A mapping of a file that others might cut while this lives. Thread-safe.
class GuardedMapping {
 public:
  /// begin, bytes: of the mapping; nothing is guarded when `begin` is null. `path` is for the
  /// message.
  GuardedMapping(const void* begin, size_t bytes, const std::string& path);
  ~GuardedMapping();
  GuardedMapping(const GuardedMapping&) = delete;
  GuardedMapping& operator=(const GuardedMapping&) = delete;

 private:
  std::string path_, shown_;
  void* slot_ = nullptr;
};

/// For handlers of SIGBUS: ends the process with one message and exit code 5 when `address` lies in
/// a guarded mapping of a file that became shorter. Returns otherwise, with a message when the page
/// could not be read. Async-signal-safe.
void end_if_mapping_was_cut(const void* address);

}  // namespace s2s

#pragma once
// One run at a time in a folder.

#include <string>

namespace s2s {

/// Holds `folder/.lock` (flock) as long as it lives; the system gives it back when the process
/// ends, however it ends. Where the file system knows no locks nothing is held.
class RunLock {
 public:
  /// Errors: [run/in-use] with the machine and process that hold it, [run/folder].
  explicit RunLock(const std::string& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace s2s

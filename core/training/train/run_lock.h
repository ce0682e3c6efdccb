#pragma once
// One run at a time in a folder.

#include <sys/types.h>

#include <memory>
#include <string>

#include "train/owner_file.h"

namespace s2s {

/// Holds `folder/.lock` (flock) as long as it lives; the system gives it back when the process
/// ends, however it ends. Where the file system knows no locks, an OwnerFile takes its place.
class RunLock {
 public:
  /// Errors: [run/in-use] with the machine and process that hold it, [run/folder].
  explicit RunLock(const std::string& folder, const OwnerSettings& settings = {});
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  /// "[run/no-lock] ..." when the file system gave no lock; else "".
  const std::string& warning() const { return warning_; }

 private:
  int file_ = -1;
  std::unique_ptr<OwnerFile> owner_;  // null: the lock is held
  std::string warning_;
};

/// "process 17 on node1", of this machine.
std::string process_name(pid_t process);

}  // namespace s2s

#pragma once
// Allows one run at a time in a run folder.

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace s2s {

/// Settings of the OwnerFile, which replaces the lock on file systems without locks.
struct OwnerSettings {
  /// Interval between two heartbeats of the owner.
  std::chrono::milliseconds beat{5000};
  /// An owner on another machine counts as dead after this time without a heartbeat.
  std::chrono::milliseconds patience{30000};
};

/// Holds `folder/.owner` during its lifetime. Only one process can create the file. It contains the
/// machine, the process id and a counter that increases with every heartbeat. A file of a dead
/// process on this machine is taken over at once. One of another machine is taken over after
/// `patience`.
class OwnerFile {
 public:
  /// Errors: [run/in-use] with the machine and process of the owner, [run/folder], [run/threads].
  OwnerFile(const std::string& folder, const OwnerSettings& settings);
  ~OwnerFile();
  OwnerFile(const OwnerFile&) = delete;
  OwnerFile& operator=(const OwnerFile&) = delete;

 private:
  void take(const std::string& folder, std::chrono::milliseconds patience);
  void remove();
  void beat(std::chrono::milliseconds interval);

  std::string path_;
  std::string identity_;
  int file_ = -1;
  std::mutex mutex_;
  std::condition_variable wakes_;
  bool ends_ = false;  // guarded by mutex_
  std::thread thread_;
};

/// Holds `folder/.lock` (flock) during its lifetime. The kernel releases the lock when the process
/// ends, also after a crash. On a file system without locks, an OwnerFile is used instead.
class RunLock {
 public:
  /// Errors: [run/in-use] with the machine and process that hold it, [run/folder].
  explicit RunLock(const std::string& folder, const OwnerSettings& settings = {});
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  /// "[run/no-lock] ..." when the file system does not support locks; otherwise "".
  const std::string& warning() const { return warning_; }

 private:
  int file_ = -1;
  std::unique_ptr<OwnerFile> owner_;  // null when flock works
  std::string warning_;
};

/// Returns "process 17 on node1" for a process of this machine.
std::string process_name(pid_t process);

}  // namespace s2s

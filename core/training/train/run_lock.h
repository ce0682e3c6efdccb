#pragma once
// One run at a time in a folder.

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace s2s {

/// Of the OwnerFile that stands in for a lock.
struct OwnerSettings {
  /// How often the owner gives a sign of life.
  std::chrono::milliseconds beat{5000};
  /// An owner on another machine that gives none for so long is dead.
  std::chrono::milliseconds patience{30000};
};

/// Holds `folder/.owner` as long as it lives: a file that only one process can make, with its
/// machine, its number and a count that goes on. One that a dead process of this machine has left
/// is taken over at once, one of another machine after `patience`.
class OwnerFile {
 public:
  /// Errors: [run/in-use] with the machine and process that own it, [run/folder], [run/threads].
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

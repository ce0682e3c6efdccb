#pragma once
// Who works in a folder, where the file system knows no locks.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace s2s {

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

}  // namespace s2s

#pragma once
// Programs that run beside this one, and a folder for what they read and write.

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace s2s::pocketsphinx {

/// A new folder below the system's temporary one, removed with all that is in
/// it.
class TemporaryFolder {
 public:
  /// Errors: [scorer/write].
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The file that a shell would run for this name, in the absolute folders of PATH; "" when there is
/// none.
std::string find_program(const std::string& name);

/// A child process whose output goes to a file, in a process group of its own: a ^C in the terminal
/// does not reach it. When it still runs at the end it
/// is told to end, killed five seconds later, and reaped.
class Process {
 public:
  /// Errors: [scorer/failed] when it cannot be started.
  Process(const std::vector<std::string>& command, const std::filesystem::path& log);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  /// Waits for its end. Errors: [scorer/failed] with the end of the log unless it ended with 0, and
  /// when it adds nothing to its log for so long; then it is ended with this object.
  void wait(std::chrono::duration<double> most_silence);

 private:
  std::string program_;
  std::filesystem::path log_;
  int pid_ = -1;
};

}  // namespace s2s::pocketsphinx

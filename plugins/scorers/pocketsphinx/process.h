#pragma once
// Child processes, and a temporary folder for their files.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "s2s/child_process.h"

namespace s2s::pocketsphinx {

/// A new temporary folder. The destructor removes it and its content.
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

/// A child process that writes its output to a file. ^C in the terminal does not reach it. The
/// destructor stops a running process: SIGTERM, then SIGKILL after five seconds.
class Process {
 public:
  /// Errors: [scorer/failed] when it cannot be started.
  Process(const std::vector<std::string>& command, const std::filesystem::path& log);
  /// Waits for its end. Errors: [scorer/failed] with the end of the log, if the exit code is not 0
  /// or if the log does not grow for `most_silence`; the destructor then stops the process.
  void wait(std::chrono::duration<double> most_silence);

 private:
  std::string program_;
  std::filesystem::path log_;
  std::optional<ChildProcess> child_;
};

}  // namespace s2s::pocketsphinx

#pragma once
// s2s-run as a process of its own that a test can signal and kill.

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace s2s::test {

/// How a process ended.
struct Outcome {
  int exit_code = -1;  // -1: a signal ended it
  int signal = 0;      // that signal
  std::string output;  // standard output and error, in order
};

class Process {
 public:
  /// Starts `s2s-run WORDS...` with one thread for operators. `environment`: more variables.
  /// program: another one of the build folder's.
  explicit Process(const std::vector<std::string>& words,
                   const std::map<std::string, std::string>& environment = {},
                   const std::string& program = "bin/s2s-run");
  /// Kills it when it still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void send(int signal) const;
  /// As a terminal does: to all processes of its group, which is its own.
  void send_to_group(int signal) const;
  /// True once it has ended.
  bool ended();
  /// What it has written until now.
  std::string output() const;
  /// Waits for its end.
  Outcome wait();

 private:
  void reap(int options);

  pid_t pid_ = -1;
  bool reaped_ = false;
  int status_ = 0;
  std::string output_file_;
};

/// Starts it and waits.
Outcome run_s2s(const std::vector<std::string>& words,
                const std::map<std::string, std::string>& environment = {});

}  // namespace s2s::test

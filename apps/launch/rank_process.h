#pragma once
// One rank of a run as a process on this machine.

#include <sys/types.h>

#include <csignal>
#include <map>
#include <string>
#include <vector>

namespace s2s::launch {

struct RankEnd {
  int exit_code = 0;
  int signal = 0;  // 0 when it exited by itself
  bool failed() const;
  /// The exit status as in a shell: the exit code, or 128 plus the signal.
  int code() const { return signal == 0 ? exit_code : 128 + signal; }
  /// "ended with exit code 5", "was ended by signal 9 (Killed)"
  std::string text() const;
};

/// How every rank is started.
struct RankCommand {
  std::vector<std::string> words;                  // the program's path and its arguments
  std::map<std::string, std::string> environment;  // in addition to this process's environment
  sigset_t signal_mask = {};
  int line = -1;  // a descriptor that the rank inherits; named by kLineVariable
};

/// Starts a process in its own process group, so that ^C in a terminal reaches it only through its
/// launcher. It is killed when its launcher dies. Its input is empty; `output` >= 0 is a descriptor
/// for its output and error. Errors: std::system_error.
pid_t start_rank(const RankCommand& command, int output);

}  // namespace s2s::launch

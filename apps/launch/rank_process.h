#pragma once
// One rank of a run as a process of this machine.

#include <sys/types.h>

#include <csignal>
#include <map>
#include <string>
#include <vector>

namespace s2s::launch {

/// How a rank ended.
struct RankEnd {
  int exit_code = 0;
  int signal = 0;  // 0 when it exited by itself
  bool failed() const;
  /// The shell's number for it: the exit code, or 128 and the signal.
  int code() const { return signal == 0 ? exit_code : 128 + signal; }
  /// "ended with exit code 5", "was ended by signal 9 (Killed)"
  std::string text() const;
};

/// What every rank is started with.
struct RankCommand {
  std::vector<std::string> words;                  // the program's path first
  std::map<std::string, std::string> environment;  // beside this process's own
  sigset_t signal_mask = {};
  int line = -1;  // a descriptor that it inherits; the variable kLineVariable names it
};

/// Starts a process in a group of its own, so that a terminal's ^C reaches it by its launcher only;
/// it is killed when its launcher dies. Its input is empty; with `output` >= 0 that descriptor is
/// its output and error. Errors: std::system_error.
pid_t start_rank(const RankCommand& command, int output);

}  // namespace s2s::launch

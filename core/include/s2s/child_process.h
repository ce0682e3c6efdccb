#pragma once
// Child processes: how every program that runs beside a training is started, waited for and ended.

#include <optional>
#include <string>
#include <vector>

namespace s2s {

/// How a process ended.
struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;  // that ended it; 0: none
  bool is_ok() const { return exit_code == 0 && signal == 0; }
  /// "exit code 3", "signal 11 (Segmentation fault)"
  std::string text() const;
};

/// How to start a program.
struct ChildSettings {
  std::string input = "/dev/null";  // file of standard input
  std::string output_file;          // made anew, for standard output; "": `output`
  std::string error_file;           // the same for standard error
  int output = -1, error = -1;      // descriptors that become standard output and error; -1: ours
  int third = -1;                   // the descriptor that becomes descriptor 3; -1: none
  std::vector<char*> environment;   // "NAME=value" and a null pointer; empty: ours
  /// In a process group of its own: ^C of the terminal reaches this process alone, and the group
  /// ends as a whole.
  bool has_own_group = true;
  /// Blocks the signals of the terminal in the child, which is in our group for a moment.
  bool blocks_terminal = false;
  double time_to_end_s = 0;  // between SIGTERM and SIGKILL in the destructor; 0: SIGKILL at once
};

/// A running program. Its signals are those that a shell gives a program, whatever this process
/// ignores or blocks.
class ChildProcess {
 public:
  /// words: the program's path, and its arguments. Errors: std::system_error.
  ChildProcess(std::vector<std::string> words, const ChildSettings& settings);
  /// Ends the program and its group, and waits for it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Does not wait. Nothing while it runs.
  std::optional<ProcessEnd> end();
  /// Waits. Nothing if it has not ended within the time; it then goes on.
  std::optional<ProcessEnd> wait(double most_s);
  void send_signal(int signal) const;

 private:
  int process_ = -1;
  bool has_own_group_;
  double time_to_end_s_;
  std::optional<ProcessEnd> end_;
};

/// The file that a shell would run for this name, searched in the absolute folders of PATH (the
/// current folder may be a stranger's). A name with a slash is a path. "": there is none.
std::string find_program(const std::string& name);

}  // namespace s2s

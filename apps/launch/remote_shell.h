#pragma once
// A program that takes a command to other machines: ssh to one, pdsh to all.

#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace s2s::launch {

/// How commands get to the machines.
struct RemoteShell {
  bool is_pdsh = false;
  std::string module = "ssh";      // pdsh's rcmd module: ssh, exec, rsh, ...
  int port = 0;                    // of ssh; 0: its configuration's
  std::vector<std::string> words;  // more options of the program
};

/// The words that run `command` on one host (ssh) or on all (pdsh). In `command`, `%n` is the
/// number of the host for pdsh, and a literal % is %%.
std::vector<std::string> remote_shell_words(const RemoteShell& settings,
                                            const std::vector<std::string>& hosts,
                                            const std::string& command);

/// The words that run `command` on one host with this process's standard input, which pdsh does not
/// pass on: those of ssh, as pdsh's module would run it (PDSH_SSH_ARGS and -l count), or those of
/// the module exec. Returns nothing for other modules of pdsh.
std::optional<std::vector<std::string>> words_with_input(const RemoteShell& settings,
                                                         const std::string& host, size_t index,
                                                         const std::string& command);

/// A running program with pipes for its input, output and errors. Its standard input stays open; it
/// ends with this process.
class ChildProgram {
 public:
  /// Errors: std::system_error.
  ChildProgram(const std::vector<std::string>& words, const sigset_t& signal_mask);
  ~ChildProgram();
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  /// Writes to its input, as far as the program reads; flush() writes the rest.
  void send(const std::string& text);
  void flush();
  /// The descriptor of its input while something is to be written, else -1.
  int waiting_input() const { return to_send_.empty() ? -1 : input_; }
  void close_input();
  int output() const { return output_; }
  int errors() const { return errors_; }
  /// Reads what there is; "" for nothing. Closes the descriptor at its end.
  std::string read(int descriptor);
  /// True when it has ended, now or before.
  bool has_ended();
  /// The exit code; 128 plus the number of a signal.
  int code() const { return *code_; }
  void end(int signal);

 private:
  pid_t process_ = 0;
  int input_ = -1, output_ = -1, errors_ = -1;
  std::string to_send_;
  std::optional<int> code_;
};

}  // namespace s2s::launch

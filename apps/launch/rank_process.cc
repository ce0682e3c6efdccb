#include "launch/rank_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "s2s/error.h"

namespace s2s::launch {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// This process's environment, where `more` replaces variables of the same name.
std::vector<std::string> merged_environment(std::map<std::string, std::string> more) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!more.contains(text.substr(0, text.find('=')))) out.push_back(text);
  }
  for (const auto& [name, value] : more) out.push_back(name + "=" + value);
  return out;
}

/// In the child, between fork and exec: system calls only.
[[noreturn]] void become(char** words, char** variables, const RankCommand& command, pid_t launcher,
                         int output) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(127);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  if (output >= 0) {
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
  }
  if (command.line >= 0) ::fcntl(command.line, F_SETFD, 0);
  ::signal(SIGUSR2, SIG_IGN);  // ignored until the rank installs its handler
  ::sigprocmask(SIG_SETMASK, &command.signal_mask, nullptr);
  ::execve(words[0], words, variables);
  ::_exit(127);
}

}  // namespace

bool RankEnd::failed() const {
  return signal != 0 || (exit_code != 0 && exit_code != static_cast<int>(ExitCode::kStopped));
}

std::string RankEnd::text() const {
  if (signal == 0) return "ended with exit code " + std::to_string(exit_code);
  return "was ended by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

pid_t start_rank(const RankCommand& command, int output) {
  std::vector<std::string> words = command.words;
  std::vector<std::string> variables = merged_environment(command.environment);
  const std::vector<char*> word_pointers = pointers(words);
  const std::vector<char*> variable_pointers = pointers(variables);
  const pid_t launcher = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    become(const_cast<char**>(word_pointers.data()), const_cast<char**>(variable_pointers.data()),
           command, launcher, output);
  }
  // parent and child both call it, so that the group exists before a signal is sent
  ::setpgid(child, child);
  return child;
}

}  // namespace s2s::launch

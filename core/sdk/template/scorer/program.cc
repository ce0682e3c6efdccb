#include "program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>

#include "s2s/error.h"
#include "s2s/foreign_text.h"

extern char** environ;

namespace PLUGIN_NAME {
namespace {

std::string end_of(const std::string& log) {
  constexpr size_t kShown = 400;
  try {
    const std::string text = s2s::read_small_file(log);
    const std::string end = text.substr(text.size() > kShown ? text.size() - kShown : 0);
    return end.empty() ? "(nothing)" : s2s::printable(end);
  } catch (const std::system_error& error) {
    return std::string("(") + error.what() + ")";
  }
}

s2s::Error failed(const std::string& program, const std::string& what, const std::string& log) {
  return {s2s::ExitCode::kCheckFailed, "PLUGIN_NAME/failed",
          program + " " + what + "; expected exit code 0; the end of its log:\n  " + end_of(log)};
}

/// Starts the program. Returns its process id, which is also its process group id.
pid_t start(const std::string& program, const ProgramFiles& files) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, files.input.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, files.output.c_str(), kNew, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, files.log.c_str(), kNew, 0600);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::string name = program;
  char* const arguments[] = {name.data(), nullptr};
  pid_t id = 0;
  const int error = posix_spawn(&id, program.c_str(), &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw failed(program, std::string("could not be started: ") + std::strerror(error), files.log);
  }
  return id;
}

}  // namespace

void run_program(const std::string& program, const ProgramFiles& files, double timeout_s) {
  using Clock = std::chrono::steady_clock;
  const pid_t id = start(program, files);
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
  int status = 0;
  for (pid_t ended = 0; ended != id;) {
    ended = waitpid(id, &status, WNOHANG);
    if (ended < 0 && errno != EINTR) {
      throw failed(program, std::string("cannot be waited for: ") + std::strerror(errno),
                   files.log);
    }
    if (ended == 0 && Clock::now() > deadline) {
      kill(-id, SIGKILL);
      waitpid(id, &status, 0);
      throw failed(program, "took more than timeout_s and was killed", files.log);
    }
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (WIFSIGNALED(status)) {
    throw failed(program, std::string("was killed: ") + strsignal(WTERMSIG(status)), files.log);
  }
  if (WEXITSTATUS(status) != 0) {
    throw failed(program, "ended with exit code " + std::to_string(WEXITSTATUS(status)), files.log);
  }
}

}  // namespace PLUGIN_NAME

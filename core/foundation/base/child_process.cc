#include "s2s/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <system_error>
#include <thread>

#include "s2s/interrupted_calls.h"

extern char** environ;

namespace s2s {
namespace {

void require(int code) {
  if (code != 0) throw std::system_error(code, std::generic_category(), "child process");
}

class SpawnAttributes {
 public:
  explicit SpawnAttributes(const ChildSettings& settings) {
    require(posix_spawnattr_init(&attributes_));
    int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    if (settings.has_own_group) flags |= POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t signals;
    sigemptyset(&signals);
    if (settings.blocks_terminal) {
      for (const int of_terminal : {SIGINT, SIGQUIT, SIGHUP}) sigaddset(&signals, of_terminal);
    }
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigfillset(&signals);
    sigdelset(&signals, SIGKILL);
    sigdelset(&signals, SIGSTOP);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

class SpawnActions {
 public:
  explicit SpawnActions(const ChildSettings& settings) {
    require(posix_spawn_file_actions_init(&actions_));
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, settings.input.c_str(), O_RDONLY, 0);
    become(STDOUT_FILENO, settings.output_file, settings.output);
    become(STDERR_FILENO, settings.error_file, settings.error);
    become(STDERR_FILENO + 1, "", settings.third);
  }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  void become(int number, const std::string& file, int descriptor) {
    if (!file.empty()) {
      constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC;
      posix_spawn_file_actions_addopen(&actions_, number, file.c_str(), kNew, 0600);
    } else if (descriptor >= 0) {
      posix_spawn_file_actions_adddup2(&actions_, descriptor, number);
    }
  }

  posix_spawn_file_actions_t actions_{};
};

/// The program that started us may ignore SIGCHLD. Then the system forgets how children ended.
void remember_ends() {
  struct sigaction action {};
  if (::sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) {
    std::signal(SIGCHLD, SIG_DFL);
  }
}

}  // namespace

std::string ProcessEnd::text() const {
  if (signal == 0) return "exit code " + std::to_string(exit_code);
  return "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

ChildProcess::ChildProcess(std::vector<std::string> words, const ChildSettings& settings)
    : has_own_group_(settings.has_own_group), time_to_end_s_(settings.time_to_end_s) {
  remember_ends();
  const SpawnAttributes attributes(settings);
  const SpawnActions actions(settings);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  char* const* const variables =
      settings.environment.empty() ? environ : settings.environment.data();
  require(posix_spawn(&process_, arguments[0], actions.get(), attributes.get(), arguments.data(),
                      variables));
}

ChildProcess::~ChildProcess() {
  if (end()) return;
  if (time_to_end_s_ > 0) {
    send_signal(SIGTERM);
    if (wait(time_to_end_s_)) return;
  }
  send_signal(SIGKILL);
  InterruptedCalls interrupted;
  while (waitpid(process_, nullptr, 0) < 0 && interrupted.again()) {
  }
}

void ChildProcess::send_signal(int signal) const {
  if (!end_) ::kill(has_own_group_ ? -process_ : process_, signal);
}

std::optional<ProcessEnd> ChildProcess::end() {
  int status = 0;
  if (end_) return end_;
  const pid_t ended = waitpid(process_, &status, WNOHANG);
  // Another part of the program has waited for it, so how it ended is unknown.
  if (ended < 0 && errno == ECHILD) end_ = ProcessEnd{EXIT_FAILURE, 0};
  if (ended != process_) return end_;
  end_ = WIFSIGNALED(status) ? ProcessEnd{0, WTERMSIG(status)} : ProcessEnd{WEXITSTATUS(status), 0};
  return end_;
}

std::optional<ProcessEnd> ChildProcess::wait(double most_s) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(most_s);
  constexpr std::chrono::milliseconds kLongestPause{20};
  for (std::chrono::milliseconds pause{1};; pause = std::min(2 * pause, kLongestPause)) {
    if (end() || Clock::now() > deadline) return end_;
    std::this_thread::sleep_for(pause);
  }
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.starts_with('/')) continue;
    std::string file = folder + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

}  // namespace s2s

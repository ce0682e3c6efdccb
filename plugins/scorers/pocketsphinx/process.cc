#include "process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <system_error>
#include <thread>

#include "s2s/foreign_text.h"
#include "s2s/interrupted_calls.h"
#include "scorer_errors.h"

extern char** environ;

namespace s2s::pocketsphinx {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kTimeToEnd{5};

std::string last_lines(const fs::path& log, size_t count) {
  std::istringstream in;
  try {
    in.str(read_small_file(log.string()));
  } catch (const std::system_error& error) {
    return std::string("  (") + error.what() + ")";
  }
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back("  " + line + "\n");
  std::string end;
  for (size_t i = lines.size() > count ? lines.size() - count : 0; i < lines.size(); ++i) {
    end += lines[i];
  }
  return end.empty() ? "  (nothing)" : end.substr(0, end.size() - 1);
}

/// Spawn attributes: a separate process group and blocked terminal signals, because a new process
/// is in our group for a moment. ^C must only reach the training, which writes a checkpoint and
/// still needs the program's output.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t signals;
    sigemptyset(&signals);
    for (const int of_terminal : {SIGINT, SIGQUIT, SIGHUP}) sigaddset(&signals, of_terminal);
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
  posix_spawnattr_t attributes_;
};

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) throw cannot_write(parent.string(), error.message());
  std::string name = (parent / "s2s-scorer-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw cannot_write(name, std::strerror(errno));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    // skip relative folders: the current folder is not trusted
    if (!folder.starts_with('/')) continue;
    const std::string file = folder + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

Process::Process(const std::vector<std::string>& command, const fs::path& log)
    : program_(command.front()), log_(log) {
  std::vector<std::string> copy = command;
  std::vector<char*> arguments;
  for (std::string& argument : copy) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  const SpawnAttributes attributes;
  const int error =
      posix_spawn(&pid_, program_.c_str(), &actions, attributes.get(), arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    pid_ = -1;
    throw program_failed(program_, std::string("could not be started: ") + std::strerror(error),
                         "  (nothing)");
  }
}

Process::~Process() {
  if (pid_ <= 0) return;
  kill(-pid_, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + kTimeToEnd;
  while (std::chrono::steady_clock::now() < deadline) {
    const pid_t ended = waitpid(pid_, nullptr, WNOHANG);
    if (ended == pid_ || (ended < 0 && errno != EINTR)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(-pid_, SIGKILL);
  InterruptedCalls interrupted;
  while (waitpid(pid_, nullptr, 0) < 0 && interrupted.again()) {
  }
}

void Process::wait(std::chrono::duration<double> most_silence) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kLongestPause{50};
  int status = 0;
  std::uintmax_t num_said = 0;
  Clock::time_point last_word = Clock::now();
  for (std::chrono::milliseconds pause{1};; pause = std::min(2 * pause, kLongestPause)) {
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == pid_ || (ended < 0 && errno != EINTR)) break;
    std::error_code ignored;
    const std::uintmax_t now_said = fs::file_size(log_, ignored);
    if (now_said != num_said) last_word = Clock::now();
    num_said = now_said;
    if (Clock::now() - last_word > most_silence) {
      throw program_failed(program_,
                           fmt::format("printed nothing for {:g} s and was killed (timeout_s)",
                                       most_silence.count()),
                           last_lines(log_, 5));
    }
    std::this_thread::sleep_for(pause);
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) {
    throw program_failed(program_, std::string("was killed: ") + strsignal(WTERMSIG(status)),
                         last_lines(log_, 5));
  }
  if (WEXITSTATUS(status) != 0) {
    throw program_failed(program_, "ended with exit code " + std::to_string(WEXITSTATUS(status)),
                         last_lines(log_, 5));
  }
}

}  // namespace s2s::pocketsphinx

#include "s2s_run/plugin/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>

namespace s2s::run {

namespace {

using Clock = std::chrono::steady_clock;

void require(int code) {
  if (code != 0) throw std::system_error(code, std::generic_category(), "child process");
}

pid_t start(const std::vector<std::string>& command, int report) {
  std::vector<char*> arguments;
  for (const std::string& text : command) arguments.push_back(const_cast<char*>(text.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  require(posix_spawn_file_actions_init(&actions));
  require(posix_spawn_file_actions_adddup2(&actions, report, kReportDescriptor));
  pid_t child = 0;
  const int code = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  require(code);
  return child;
}

/// Splits what arrives into lines.
class LineSplitter {
 public:
  explicit LineSplitter(const std::function<void(const std::string&)>& on_line)
      : on_line_(on_line) {}
  void add(const char* data, size_t size) {
    pending_.append(data, size);
    for (size_t end; (end = pending_.find('\n')) != std::string::npos;) {
      on_line_(pending_.substr(0, end));
      pending_.erase(0, end + 1);
    }
  }

 private:
  const std::function<void(const std::string&)>& on_line_;
  std::string pending_;
};

/// Reads until the end of the report; false when the deadline passes first.
bool read_report(int report, Clock::time_point deadline, LineSplitter& lines) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{report, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) require(errno);
    if (ready <= 0) continue;
    char buffer[4096];
    const ssize_t count = ::read(report, buffer, sizeof(buffer));
    if (count == 0) return true;
    if (count > 0) lines.add(buffer, static_cast<size_t>(count));
  }
}

}  // namespace

ChildEnd run_child(const std::vector<std::string>& command, int time_limit_s,
                   const std::function<void(const std::string&)>& on_line) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) require(errno);
  const pid_t child = start(command, ends[1]);
  ::close(ends[1]);
  LineSplitter lines(on_line);
  ChildEnd end;
  end.timed_out = !read_report(ends[0], Clock::now() + std::chrono::seconds(time_limit_s), lines);
  ::close(ends[0]);
  if (end.timed_out) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

}  // namespace s2s::run

#include "s2s_run/doctor/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "base/pipe.h"
#include "base/write_whole.h"

namespace s2s::run {
namespace {

using Clock = std::chrono::steady_clock;

/// Reads until the end of the pipe or the limit.
std::string read_all(int pipe, double limit_s, bool& timed_out) {
  const auto limit = Clock::now() + std::chrono::duration<double>(limit_s);
  std::string text;
  char buffer[4096];
  InterruptedCalls interrupted;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - Clock::now());
    pollfd wait = {pipe, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready < 0 && interrupted.again()) continue;
    timed_out = ready == 0;
    if (ready <= 0) return text;
    const ssize_t count = ::read(pipe, buffer, sizeof(buffer));
    if (count < 0 && interrupted.again()) continue;
    if (count <= 0) return text;
    interrupted.reset();
    text.append(buffer, static_cast<size_t>(count));
  }
}

}  // namespace

std::string ChildAnswer::end_text() const {
  if (timed_out) return "gave no answer in time";
  return end.signal != 0 ? "ended by " + end.text() : end.text();
}

ChildAnswer run_in_child(double limit_s, const std::function<void(const Tell& tell)>& body) {
  Pipe pipe;
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    ::setpgid(0, 0);  // its own children end with it
    pipe.close_read_end();
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    body([&pipe](const std::string& line) {
      const std::string text = line + "\n";
      write_whole(pipe.write_end(), text.data(), text.size());
    });
    ::_exit(EXIT_SUCCESS);
  }
  pipe.close_write_end();
  ChildAnswer answer;
  answer.text = read_all(pipe.read_end(), limit_s, answer.timed_out);
  if (answer.timed_out) {
    ::kill(child, SIGKILL);
    ::kill(-child, SIGKILL);
  }
  int status = 0;
  InterruptedCalls interrupted;
  while (::waitpid(child, &status, 0) < 0 && interrupted.again()) {
  }
  if (WIFEXITED(status)) answer.end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) answer.end.signal = WTERMSIG(status);
  return answer;
}

ChildAnswer run_command(double limit_s, const std::vector<std::string>& words) {
  Pipe pipe;
  ChildSettings settings;
  settings.output = settings.error = pipe.write_end();
  ChildProcess child(words, settings);
  pipe.close_write_end();
  ChildAnswer answer;
  answer.text = read_all(pipe.read_end(), limit_s, answer.timed_out);
  const std::optional<ProcessEnd> end = answer.timed_out ? std::nullopt : child.wait(limit_s);
  answer.timed_out = !end;
  if (end) answer.end = *end;
  return answer;
}

}  // namespace s2s::run

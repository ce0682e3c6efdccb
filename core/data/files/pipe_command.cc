#include "files/pipe_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "files/files_errors.h"
#include "files/growing_bytes.h"
#include "files/marked_processes.h"
#include "s2s/interrupted_calls.h"

namespace s2s::files {
namespace {

class Descriptor {
 public:
  Descriptor() = default;
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void reset(int number = -1) {
    if (number_ >= 0) close(number_);
    number_ = number;
  }
  int get() const { return number_; }

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor read_end, write_end;
  explicit Pipe(const std::string& command) {
    std::array<int, 2> ends = {};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw files_errors::pipe(command, std::strerror(errno));
    }
    read_end.reset(ends[0]);
    write_end.reset(ends[1]);
  }
};

/// All signals as a program finds them that a shell starts: whoever starts this one may ignore
/// some, or have threads that block them.
void set_signals(posix_spawnattr_t& attributes) {
  sigset_t signals;
  sigfillset(&signals);
  sigdelset(&signals, SIGKILL);
  sigdelset(&signals, SIGSTOP);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
}

/// A program and what it starts, in a process group. One that is left running is killed, and with
/// it what it has put into other groups and sessions.
class Child {
 public:
  Child(std::vector<std::string> words, const Pipe& out, const Pipe& err) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out.write_end.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err.write_end.get(), STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    set_signals(attributes);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::vector<char*> environment = environment_with(mark_);
    const int code = posix_spawn(&process_, words.front().c_str(), &actions, &attributes,
                                 arguments.data(), environment.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (code != 0) throw files_errors::pipe(words.back(), std::strerror(code));
  }
  ~Child() {
    if (has_ended_) return;
    kill(-process_, SIGKILL);
    kill_marked(mark_);
    InterruptedCalls interrupted;
    while (waitpid(process_, &status_, 0) < 0 && interrupted.again()) {
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Does not wait.
  bool has_ended() {
    if (!has_ended_) has_ended_ = waitpid(process_, &status_, WNOHANG) == process_;
    return has_ended_;
  }
  /// Of waitpid, once it has ended.
  int status() const { return status_; }

 private:
  std::string mark_ = new_mark();
  pid_t process_ = -1;
  bool has_ended_ = false;
  int status_ = 0;
};

/// Reads what is there; false at the end.
bool read_some(Descriptor& from, GrowingBytes& to) {
  constexpr size_t kChunkBytes = size_t{1} << 16;
  const ssize_t got = read(from.get(), to.room(kChunkBytes), kChunkBytes);
  to.add(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return got > 0 || (got < 0 && errno == EINTR);
}

/// The same; only the last bytes are kept.
bool read_last(Descriptor& from, std::string& to) {
  constexpr size_t kKeptBytes = 4096;
  std::array<char, size_t{1} << 16> chunk;
  const ssize_t got = read(from.get(), chunk.data(), chunk.size());
  to.append(chunk.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (to.size() > kKeptBytes) to.erase(0, to.size() - kKeptBytes);
  return got > 0 || (got < 0 && errno == EINTR);
}

/// One reading of a command, from its start to its end.
class Reading {
 public:
  Reading(const std::vector<std::string>& words, const CommandLimits& limits)
      : words_(words), limits_(limits), out_(words.back()), err_(words.back()) {}

  /// Nothing when a signal of the terminal ended the command before it wrote, unless `is_last`: a
  /// new process is in our group for a moment.
  std::optional<std::string> run(bool is_last) {
    Child child(words_, out_, err_);
    out_.write_end.reset();
    err_.write_end.reset();
    while (out_.read_end.get() >= 0) wait_for_output(-1);
    for (int wait_ms = 0; !child.has_ended(); wait_ms = std::min(50, wait_ms + 1)) {
      wait_for_output(wait_ms);
    }
    wait_for_output(0);  // its last words
    const int status = child.status();
    if (!is_last && data_.size() == 0 && is_of_terminal(status)) return std::nullopt;
    if (status != 0) fail(how_it_ended(status));
    return data_.take();
  }

 private:
  /// Reads both pipes once, after at most `most_ms` (-1: when there is something to read).
  void wait_for_output(int most_ms) {
    std::array<pollfd, 2> wait = {pollfd{out_.read_end.get(), POLLIN, 0},
                                  pollfd{err_.read_end.get(), POLLIN, 0}};
    const int left_ms = milliseconds_left();
    poll(wait.data(), wait.size(), most_ms < 0 ? left_ms : std::min(most_ms, left_ms));
    if (wait[0].revents != 0) {
      if (!read_some(out_.read_end, data_)) out_.read_end.reset();
      last_output_ = Clock::now();
      if (static_cast<int64_t>(data_.size()) > limits_.output_bytes) {
        fail(fmt::format("it wrote more than {} bytes and was ended", limits_.output_bytes));
      }
    }
    if (wait[1].revents != 0 && !read_last(err_.read_end, complaints_)) err_.read_end.reset();
  }

  /// At least 1. Errors: [data/pipe] when there are none.
  int milliseconds_left() const {
    using Milliseconds = std::chrono::duration<double, std::milli>;
    const Clock::time_point now = Clock::now();
    const double most_s = limits_.most_silences * limits_.silence_s;
    const double left_in_all = 1e3 * most_s - Milliseconds(now - begin_).count();
    if (left_in_all <= 0) {
      fail(
          fmt::format("it took more than {:g} s and was ended (six times data.command_timeout_s or "
                      "S2S_COMMAND_TIMEOUT_S)",
                      most_s));
    }
    const double left =
        std::min(left_in_all, 1e3 * limits_.silence_s - Milliseconds(now - last_output_).count());
    if (left <= 0) {
      fail(
          fmt::format("it wrote nothing for {:g} s and was ended (data.command_timeout_s and "
                      "S2S_COMMAND_TIMEOUT_S make it longer)",
                      limits_.silence_s));
    }
    constexpr double kMost = 1e6;
    return std::max(1, static_cast<int>(std::min(left, kMost)));
  }

  [[noreturn]] void fail(const std::string& reason) const {
    std::string complaints = complaints_;
    while (!complaints.empty() && complaints.back() == '\n') complaints.pop_back();
    throw files_errors::pipe(words_.back(), reason + (complaints.empty() ? "" : ": " + complaints));
  }

  static bool is_of_terminal(int status) {
    if (!WIFSIGNALED(status)) return false;
    const int signal = WTERMSIG(status);
    return signal == SIGINT || signal == SIGQUIT || signal == SIGHUP;
  }

  static std::string how_it_ended(int status) {
    if (WIFSIGNALED(status)) {
      return std::string("it was ended by ") + strsignal(WTERMSIG(status));
    }
    return "exit status " + std::to_string(WEXITSTATUS(status));
  }

  using Clock = std::chrono::steady_clock;
  const std::vector<std::string>& words_;  // the last one says what it is, in messages
  CommandLimits limits_;
  Pipe out_, err_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point last_output_ = begin_;
  GrowingBytes data_;
  std::string complaints_;
};

}  // namespace

std::optional<std::string> pipe_command(std::string_view source) {
  constexpr std::string_view kPrefix = "pipe:";
  if (!source.starts_with(kPrefix)) return std::nullopt;
  return std::string(source.substr(kPrefix.size()));
}

bool is_url(std::string_view source) {
  const size_t end = source.find("://");
  if (end == std::string_view::npos || end == 0) return false;
  for (const char c : source.substr(0, end)) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '+' && c != '-' && c != '.') {
      return false;
    }
  }
  return true;
}

std::string read_command(const std::string& command, const CommandLimits& limits) {
  if (!is_command_allowed(command)) throw files_errors::command_refused(command);
  return read_program({"/bin/sh", "-c", command}, limits);
}

std::string read_program(const std::vector<std::string>& words, const CommandLimits& limits) {
  if (auto text = Reading(words, limits).run(/*is_last=*/false)) return std::move(*text);
  return Reading(words, limits).run(/*is_last=*/true).value();
}

std::string find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    // The current folder may be that of the data.
    if (!folder.starts_with('/')) continue;
    std::string file = folder + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

std::string read_command(const std::string& command) {
  return read_command(command, command_limits());
}

}  // namespace s2s::files

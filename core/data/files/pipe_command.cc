#include "files/pipe_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "files/files_errors.h"
#include "files/growing_bytes.h"
#include "files/marked_processes.h"
#include "s2s/child_process.h"

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

/// A program and the processes that it starts. If it is still running at the end, it is killed,
/// together with processes that it has put into other groups and sessions.
class Child {
 public:
  Child(const std::vector<std::string>& words, const Pipe& out, const Pipe& err) {
    ChildSettings settings;
    settings.output = out.write_end.get();
    settings.error = err.write_end.get();
    settings.environment = environment_with(mark_);
    try {
      process_.emplace(words, settings);
    } catch (const std::system_error& error) {
      throw files_errors::pipe(words.back(), error.code().message());
    }
  }
  ~Child() {
    if (end()) return;
    process_->send_signal(SIGKILL);
    kill_marked(mark_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Returns how it ended, or nothing while it runs. Does not wait.
  std::optional<ProcessEnd> end() { return process_->end(); }

 private:
  std::string mark_ = new_mark();
  std::optional<ChildProcess> process_;
};

/// Reads what is available; returns false at the end.
bool read_some(Descriptor& from, GrowingBytes& to) {
  constexpr size_t kChunkBytes = size_t{1} << 16;
  const ssize_t got = read(from.get(), to.room(kChunkBytes), kChunkBytes);
  to.add(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return got > 0 || (got < 0 && errno == EINTR);
}

/// Does the same, but keeps only the last bytes.
bool read_last(Descriptor& from, std::string& to) {
  constexpr size_t kKeptBytes = 4096;
  std::array<char, size_t{1} << 16> chunk;
  const ssize_t got = read(from.get(), chunk.data(), chunk.size());
  to.append(chunk.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (to.size() > kKeptBytes) to.erase(0, to.size() - kKeptBytes);
  return got > 0 || (got < 0 && errno == EINTR);
}

/// Reads a command's output from start to end.
class Reading {
 public:
  Reading(const std::vector<std::string>& words, const CommandLimits& limits)
      : words_(words), limits_(limits), out_(words.back()), err_(words.back()) {}

  /// Returns nothing if a signal of the terminal ended the command before it wrote anything,
  /// because a new process is in our group for a moment; the caller then tries again. Not with
  /// `is_last`.
  std::optional<std::string> run(bool is_last) {
    Child child(words_, out_, err_);
    out_.write_end.reset();
    err_.write_end.reset();
    while (out_.read_end.get() >= 0) wait_for_output(-1);
    std::optional<ProcessEnd> end;
    for (int wait_ms = 0; !(end = child.end()); wait_ms = std::min(50, wait_ms + 1)) {
      wait_for_output(wait_ms);
    }
    wait_for_output(0);  // the last of its standard error
    if (!is_last && data_.size() == 0 && is_of_terminal(end->signal)) return std::nullopt;
    if (!end->is_ok()) fail(how_it_ended(*end));
    return data_.take();
  }

 private:
  /// Reads both pipes once, after waiting at most `most_ms` (-1: until there is something to read).
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

  /// Returns at least 1. Errors: [data/pipe] when the time is over.
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

  static bool is_of_terminal(int signal) {
    return signal == SIGINT || signal == SIGQUIT || signal == SIGHUP;
  }

  static std::string how_it_ended(const ProcessEnd& end) {
    if (end.signal != 0) return std::string("it was ended by ") + strsignal(end.signal);
    return "exit status " + std::to_string(end.exit_code);
  }

  using Clock = std::chrono::steady_clock;
  const std::vector<std::string>& words_;  // the last word names the command in messages
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

std::string read_command(const std::string& command) {
  return read_command(command, command_limits());
}

}  // namespace s2s::files

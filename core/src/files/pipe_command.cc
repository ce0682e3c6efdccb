#include "files/pipe_command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "files/files_errors.h"

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

pid_t start(const std::string& command, const Pipe& out, const Pipe& err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write_end.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write_end.get(), STDERR_FILENO);
  std::string text = command;
  std::string shell = "sh";
  std::string option = "-c";
  std::array<char*, 4> words = {shell.data(), option.data(), text.data(), nullptr};
  pid_t child = -1;
  const int code = posix_spawn(&child, "/bin/sh", &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) throw files_errors::pipe(command, std::strerror(code));
  return child;
}

/// Reads what is there; false at the end.
bool read_some(Descriptor& from, std::string& to) {
  constexpr size_t kChunkBytes = size_t{1} << 16;
  const size_t had = to.size();
  to.resize(had + kChunkBytes);
  const ssize_t got = read(from.get(), to.data() + had, kChunkBytes);
  to.resize(had + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return got > 0 || (got < 0 && errno == EINTR);
}

void read_both(Pipe& out, std::string& data, Pipe& err, std::string& complaints) {
  constexpr size_t kKeptBytes = 4096;
  while (out.read_end.get() >= 0 || err.read_end.get() >= 0) {
    std::array<pollfd, 2> wait = {pollfd{out.read_end.get(), POLLIN, 0},
                                  pollfd{err.read_end.get(), POLLIN, 0}};
    if (poll(wait.data(), wait.size(), -1) < 0 && errno == EINTR) continue;
    if (wait[0].revents != 0 && !read_some(out.read_end, data)) out.read_end.reset();
    if (wait[1].revents != 0 && !read_some(err.read_end, complaints)) err.read_end.reset();
    if (complaints.size() > kKeptBytes) complaints.erase(0, complaints.size() - kKeptBytes);
  }
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    return std::string("it was ended by ") + strsignal(WTERMSIG(status));
  }
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

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

std::string read_command(const std::string& command) {
  Pipe out(command);
  Pipe err(command);
  const pid_t child = start(command, out, err);
  out.write_end.reset();
  err.write_end.reset();
  std::string data;
  std::string complaints;
  read_both(out, data, err, complaints);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0) return data;
  while (!complaints.empty() && complaints.back() == '\n') complaints.pop_back();
  throw files_errors::pipe(command,
                           how_it_ended(status) + (complaints.empty() ? "" : ": " + complaints));
}

}  // namespace s2s::files

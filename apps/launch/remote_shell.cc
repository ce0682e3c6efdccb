#include "launch/remote_shell.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <system_error>

#include "base/text.h"
#include "s2s/interrupted_calls.h"

namespace s2s::launch {
namespace {

using Words = std::vector<std::string>;

struct ChildPipe {
  ChildPipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      throw std::system_error(errno, std::generic_category(), "pipe");
    }
  }
  int ends[2] = {-1, -1};
};

/// The words of a text without quotes.
Words split_words(const char* text) {
  std::istringstream in(text == nullptr ? "" : text);
  return {std::istream_iterator<std::string>(in), {}};
}

/// What pdsh puts for %h, %n, %u and %% in the words of its modules.
std::string without_percents(const std::string& word, const std::string& host, size_t index,
                             const std::string& user) {
  std::string out;
  for (size_t i = 0; i < word.size(); ++i) {
    const char next = word[i] == '%' && i + 1 < word.size() ? word[i + 1] : '\0';
    if (next == 'h') out += host;
    if (next == 'n') out += std::to_string(index);
    if (next == 'u') out += user;
    if (next == '%') out += '%';
    const bool is_taken = next == 'h' || next == 'n' || next == 'u' || next == '%';
    if (!is_taken) out += word[i];
    i += is_taken ? 1 : 0;
  }
  return out;
}

/// The argument of pdsh's option -l; "" without one.
std::string user_of(const Words& options) {
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i] == "-l" && i + 1 < options.size()) return options[i + 1];
    if (options[i].starts_with("-l")) return options[i].substr(2);
  }
  return "";
}

Words ssh_words_of_pdsh(const RemoteShell& settings, const std::string& host, size_t index) {
  const std::string user = user_of(settings.words);
  Words words = {"ssh", "-o", "BatchMode=yes"};
  const auto add = [&](const Words& more) {
    for (const std::string& word : more) {
      words.push_back(without_percents(word, host, index, user));
    }
  };
  add(split_words(std::getenv("PDSH_SSH_ARGS_APPEND")));
  const Words own = split_words(std::getenv("PDSH_SSH_ARGS"));
  add(own);
  if (own.empty() && !user.empty()) words.push_back("-l" + user);
  // PDSH_SSH_ARGS may name the host itself.
  if (std::find(words.begin(), words.end(), host) == words.end()) words.push_back(host);
  return words;
}

void close_one(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

}  // namespace

Words remote_shell_words(const RemoteShell& settings, const Words& hosts,
                         const std::string& command) {
  Words words;
  if (settings.is_pdsh) {
    // -S: the exit code of the command; -N: no host before each line; -f: all at once.
    words = {"pdsh", "-S", "-N", "-f", "1024", "-R", settings.module, "-w", joined(hosts, ",")};
    words.insert(words.end(), settings.words.begin(), settings.words.end());
    // The module exec runs a program, not a line of a shell.
    if (settings.module == "exec") words.insert(words.end(), {"sh", "-c"});
  } else {
    words = {"ssh", "-o", "BatchMode=yes"};
    if (settings.port != 0) words.insert(words.end(), {"-p", std::to_string(settings.port)});
    words.insert(words.end(), settings.words.begin(), settings.words.end());
    words.insert(words.end(), {"--", hosts.front()});
  }
  words.push_back(command);
  return words;
}

std::optional<Words> words_with_input(const RemoteShell& settings, const std::string& host,
                                      size_t index, const std::string& command) {
  if (!settings.is_pdsh) return remote_shell_words(settings, {host}, command);
  if (settings.module != "ssh" && settings.module != "exec") return {};
  Words words;
  if (settings.module == "ssh") {
    words = ssh_words_of_pdsh(settings, host, index);
  } else {
    for (const std::string& word : settings.words) {
      words.push_back(without_percents(word, host, index, user_of(settings.words)));
    }
    words.insert(words.end(), {"sh", "-c"});
  }
  words.push_back(command);
  return words;
}

ChildProgram::ChildProgram(const Words& given, const sigset_t& signal_mask) {
  Words words = given;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const ChildPipe in, out, error;
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (process_ == 0) {  // system calls only
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(127);
    ::dup2(in.ends[0], STDIN_FILENO);
    ::dup2(out.ends[1], STDOUT_FILENO);
    ::dup2(error.ends[1], STDERR_FILENO);
    ::sigprocmask(SIG_SETMASK, &signal_mask, nullptr);
    ::execvp(pointers[0], pointers.data());
    ::_exit(127);
  }
  ::setpgid(process_, process_);
  for (const int end : {in.ends[0], out.ends[1], error.ends[1]}) ::close(end);
  input_ = in.ends[1];
  output_ = out.ends[0];
  errors_ = error.ends[0];
  for (const int end : {input_, output_, errors_}) ::fcntl(end, F_SETFL, O_NONBLOCK);
}

ChildProgram::~ChildProgram() {
  if (!has_ended()) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  close_one(input_);
  close_one(output_);
  close_one(errors_);
}

void ChildProgram::send(const std::string& text) {
  to_send_ += text;
  flush();
}

void ChildProgram::flush() {
  InterruptedCalls interrupted;
  while (input_ >= 0 && !to_send_.empty()) {
    const ssize_t count = ::write(input_, to_send_.data(), to_send_.size());
    if (count < 0 && interrupted.again()) continue;
    if (count < 0 && errno == EAGAIN) return;
    // The program has ended or does not read: its exit code says so.
    if (count <= 0) to_send_.clear();
    to_send_.erase(0, static_cast<size_t>(std::max<ssize_t>(count, 0)));
  }
}

void ChildProgram::close_input() { close_one(input_); }

std::string ChildProgram::read(int descriptor) {
  std::string out;
  std::array<char, 8192> buffer{};
  ssize_t count = 0;
  while (descriptor >= 0 && (count = ::read(descriptor, buffer.data(), buffer.size())) > 0) {
    out.append(buffer.data(), static_cast<size_t>(count));
  }
  if (count == 0 && descriptor >= 0) close_one(descriptor == output_ ? output_ : errors_);
  return out;
}

bool ChildProgram::has_ended() {
  int status = 0;
  if (!code_ && ::waitpid(process_, &status, WNOHANG) == process_) {
    code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  return code_.has_value();
}

void ChildProgram::end(int signal) {
  close_one(input_);
  if (!code_) ::kill(process_, signal);
}

}  // namespace s2s::launch

#include "cli/train/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "common/places.h"

extern char** environ;

namespace s2s::test {
namespace {

std::vector<std::string> variables(const std::map<std::string, std::string>& more) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  all.emplace_back("OMP_NUM_THREADS=1");
  for (const auto& [name, value] : more) all.push_back(name + "=" + value);
  return all;
}

/// What exec wants: pointers to the texts, and null.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::string new_file() {
  std::string name = (std::filesystem::temp_directory_path() / "s2s-output-XXXXXX").string();
  const int file = mkstemp(name.data());
  if (file < 0) throw std::runtime_error("no temporary file");
  close(file);
  return name;
}

}  // namespace

Process::Process(const std::vector<std::string>& words,
                 const std::map<std::string, std::string>& environment, const std::string& program)
    : output_file_(new_file()) {
  std::vector<std::string> arguments = {s2s::test::binary_dir() + "/" + program};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<std::string> all_variables = variables(environment);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output_file_.c_str(), O_WRONLY | O_APPEND,
                                   0);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int error = posix_spawn(&pid_, arguments[0].c_str(), &files, &attributes,
                                pointers(arguments).data(), pointers(all_variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw std::runtime_error("cannot start " + arguments[0]);
}

Process::~Process() {
  if (!reaped_) {
    send(SIGKILL);
    reap(0);
  }
  unlink(output_file_.c_str());
}

void Process::send(int signal) const {
  if (!reaped_) kill(pid_, signal);
}

void Process::send_to_group(int signal) const {
  if (!reaped_) kill(-pid_, signal);
}

void Process::reap(int options) {
  if (!reaped_) reaped_ = waitpid(pid_, &status_, options) == pid_;
}

bool Process::ended() {
  reap(WNOHANG);
  return reaped_;
}

std::string Process::output() const {
  std::ostringstream text;
  text << std::ifstream(output_file_).rdbuf();
  return text.str();
}

Outcome Process::wait() {
  reap(0);
  Outcome outcome;
  if (WIFEXITED(status_)) outcome.exit_code = WEXITSTATUS(status_);
  if (WIFSIGNALED(status_)) outcome.signal = WTERMSIG(status_);
  outcome.output = output();
  return outcome;
}

Outcome run_s2s(const std::vector<std::string>& words,
                const std::map<std::string, std::string>& environment) {
  return Process(words, environment).wait();
}

}  // namespace s2s::test

#include "parallel/process_ranks.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "common/temporary_folder.h"

namespace s2s::test {
namespace {

/// rank: as this program's environment says it to its copies.
pid_t start(int rank, int size, int port, const std::string& name) {
  ::setenv("RANK", std::to_string(rank).c_str(), 1);
  ::setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
  ::setenv("WORLD_SIZE", std::to_string(size).c_str(), 1);
  ::setenv("LOCAL_WORLD_SIZE", std::to_string(size).c_str(), 1);
  ::setenv("MASTER_ADDR", "127.0.0.1", 1);
  ::setenv("MASTER_PORT", std::to_string(port).c_str(), 1);
  std::string program = "/proc/self/exe", filter = "--test-case=" + name, all = "--no-skip";
  char* words[] = {program.data(), filter.data(), all.data(), nullptr};
  pid_t child = -1;
  ::posix_spawn(&child, program.c_str(), nullptr, nullptr, words, environ);
  return child;
}

}  // namespace

std::vector<pid_t> start_process_ranks(int size, const std::string& name) {
  // Below the ports that systems hand out; test programs that run at once have other numbers.
  const int port = 12000 + ::getpid() % 20000;
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) children.push_back(start(rank, size, port, name));
  for (const char* variable : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"}) {
    ::unsetenv(variable);
  }
  return children;
}

std::vector<int> wait_process_ranks(const std::vector<pid_t>& processes) {
  std::vector<int> codes;
  for (const pid_t child : processes) {
    int status = 0;
    ::waitpid(child, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  return codes;
}

std::vector<int> run_process_ranks(int size, const std::string& name) {
  return wait_process_ranks(start_process_ranks(size, name));
}

}  // namespace s2s::test

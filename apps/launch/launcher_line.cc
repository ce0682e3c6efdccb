#include "launch/launcher_line.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/write_whole.h"

namespace s2s::launch {
namespace {

/// The inode number of a pipe; 0 when the descriptor is not a pipe.
unsigned long long pipe_number(int descriptor) {
  struct stat facts = {};
  const bool is_pipe = ::fstat(descriptor, &facts) == 0 && S_ISFIFO(facts.st_mode);
  return is_pipe ? facts.st_ino : 0;
}

}  // namespace

std::string line_value(int descriptor) {
  return std::to_string(descriptor) + ":" + std::to_string(pipe_number(descriptor));
}

LauncherLine::LauncherLine() {
  const char* const value = std::getenv(kLineVariable);
  if (value == nullptr) return;
  int descriptor = -1;
  unsigned long long number = 0;
  const bool is_read = std::sscanf(value, "%d:%llu", &descriptor, &number) == 2;
  // A process that inherited the variable may not have inherited the pipe.
  if (is_read && number != 0 && pipe_number(descriptor) == number) descriptor_ = descriptor;
  if (descriptor_ >= 0) ::fcntl(descriptor_, F_SETFD, FD_CLOEXEC);
  ::unsetenv(kLineVariable);
}

LauncherLine::~LauncherLine() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool LauncherLine::tell(const std::string& message) const {
  if (descriptor_ < 0) return false;
  return write_whole(descriptor_, message.c_str(), message.size() + 1);  // with the zero
}

}  // namespace s2s::launch

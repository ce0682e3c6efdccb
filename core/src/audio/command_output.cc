#include "audio/command_output.h"

#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace s2s::data {

std::shared_ptr<const std::string> command_output(const std::string& command) {
  FILE* const pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) throw std::runtime_error(std::strerror(errno));
  auto output = std::make_shared<std::string>();
  constexpr size_t kAtOnce = 1 << 16;
  size_t used = 0, got = 0;
  do {
    output->resize(used + kAtOnce);
    got = std::fread(output->data() + used, 1, kAtOnce, pipe);
    used += got;
  } while (got > 0);
  output->resize(used);
  const int status = ::pclose(pipe);
  if (status == -1) throw std::runtime_error(std::strerror(errno));
  if (WIFSIGNALED(status)) {
    throw std::runtime_error("the command was ended by signal " + std::to_string(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != 0) {
    throw std::runtime_error("the command ended with status " +
                             std::to_string(WEXITSTATUS(status)));
  }
  return output;
}

}  // namespace s2s::data

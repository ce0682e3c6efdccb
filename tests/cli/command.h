#pragma once
// Runs s2s-run as a user does.

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/places.h"

namespace s2s::test {

struct CommandResult {
  int exit_code = -1;
  std::string output;  // standard output and error, in order
};

/// Runs a line of the shell.
inline CommandResult run_shell(const std::string& line) {
  CommandResult result;
  FILE* const pipe = popen((line + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  for (size_t count; (count = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    result.output.append(buffer, count);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

/// Runs `s2s-run ARGUMENTS` in a shell. `environment`: assignments before it ("A=1 B=2").
inline CommandResult run_cli(const std::string& arguments, const std::string& environment = "") {
  return run_shell(environment + " " + s2s::test::binary_dir() + "/bin/s2s-run " + arguments);
}

/// True when the command printed `text`.
inline bool has(const CommandResult& result, const std::string& text) {
  return result.output.find(text) != std::string::npos;
}

}  // namespace s2s::test

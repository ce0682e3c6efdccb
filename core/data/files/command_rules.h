#pragma once
// What holds for every shell command that this process runs for data. Allowed by s2s/data_commands.

#include <cstdint>
#include <string>

#include "s2s/data/data_commands.h"

namespace s2s::files {

/// Whether the user typed this command, or allowed all.
bool is_command_allowed(const std::string& command);

struct CommandLimits {
  double silence_s = 600;  // without output
  int64_t output_bytes = int64_t{4} << 30;
};

/// Errors: [data/command-timeout] for a variable that is no time.
CommandLimits command_limits();

}  // namespace s2s::files

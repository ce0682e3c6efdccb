#pragma once
// Shell commands in data ("pipe:CMD", sources of type command): which of them may run, and their
// limits.

#include <cstdint>
#include <string>

#include "s2s/config.h"

namespace s2s {

/// A command from a data file is refused in this process until one of these functions allows it, or
/// unless the variable S2S_ALLOW_COMMANDS is 1. All functions are thread-safe.
/// them, or the variable S2S_ALLOW_COMMANDS is 1. All are thread-safe.

/// Allows the commands in `typed`, which are texts "pipe:CMD" at any depth, with all that their
/// patterns expand to. To be called for what the user wrote: the configuration of a run. A file
/// that it names is data, and so is the configuration of a checkpoint; their commands are not
/// allowed.
/// Errors: [data/command-secret] for a command that contains the value of a secret's variable.
void allow_typed_commands(const Config& typed);
/// Does the same for a word of the command line. Other words than "pipe:CMD" have no effect.
void allow_typed_command(const std::string& source);
/// Allows all commands, from any source (`data.allow_commands`, `--allow-commands`).
void allow_data_commands(bool allowed = true);
/// Sets how long a command may write nothing (`data.command_timeout_s`). The variable
/// S2S_COMMAND_TIMEOUT_S has priority.
void set_command_timeout(double seconds);

}  // namespace s2s

namespace s2s::files {

/// Whether the user typed this command or allowed all commands. Always false with --untrusted.
bool is_command_allowed(const std::string& command);

struct CommandLimits {
  double silence_s = 600;  // maximum time without output
  /// Maximum duration of a command, as a multiple of silence_s.
  double most_silences = 6;
  int64_t output_bytes = int64_t{4} << 30;
};

/// Errors: [data/command-timeout] if the variable is not a valid time.
CommandLimits command_limits();

}  // namespace s2s::files

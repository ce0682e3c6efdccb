#pragma once
// Shell commands in data ("pipe:CMD", sources of type command): which of them may run here, and
// what holds for those that do.

#include <cstdint>
#include <string>

#include "s2s/config.h"

namespace s2s {

/// Commands that come out of data files are refused in this process until one of these allows
/// them, or the variable S2S_ALLOW_COMMANDS is 1. All are thread-safe.

/// Allows the commands that stand in `typed` as texts "pipe:CMD", at any depth, with all that their
/// patterns stand for. For what the user wrote himself: the configuration of a run. A file that it
/// names is data, and so is the configuration of a checkpoint, whose texts are passed over.
/// Errors: [data/command-secret] for a command with the value of a secret's variable in it.
void allow_typed_commands(const Config& typed);
/// The same for a word of the command line; other words than "pipe:CMD" are passed over.
void allow_typed_command(const std::string& source);
/// Allows all commands, whoever wrote them (`data.allow_commands`, `--allow-commands`).
void allow_data_commands(bool allowed = true);
/// How long a command may write nothing (`data.command_timeout_s`); the variable
/// S2S_COMMAND_TIMEOUT_S is stronger.
void set_command_timeout(double seconds);

}  // namespace s2s

namespace s2s::files {

/// Whether the user typed this command, or allowed all. With --untrusted, none is.
bool is_command_allowed(const std::string& command);

struct CommandLimits {
  double silence_s = 600;  // without output
  /// Times silence_s: the longest that a command may take, whatever it writes.
  double most_silences = 6;
  int64_t output_bytes = int64_t{4} << 30;
};

/// Errors: [data/command-timeout] for a variable that is no time.
CommandLimits command_limits();

}  // namespace s2s::files

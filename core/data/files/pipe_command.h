#pragma once
// Data that a shell command writes to its standard output ("pipe:gunzip -c x.gz").

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/command_rules.h"

namespace s2s::files {

/// The command of a "pipe:CMD" source; nothing for other sources.
std::optional<std::string> pipe_command(std::string_view source);

/// True for "s3://bucket/name" and the like.
bool is_url(std::string_view source);

/// All that `command` writes to its standard output, run by /bin/sh in a process group of its own:
/// a ^C in the terminal does not reach it. It is over when its output has ended and the shell has;
/// what it left running with an open standard error is not waited for.
/// Errors: [data/command-refused] unless is_command_allowed; [data/pipe] with its exit status or
/// signal and the end of its standard error, and when it breaks a limit, which ends its group.
std::string read_command(const std::string& command, const CommandLimits& limits);
std::string read_command(const std::string& command);

/// The same for a program (words[0], an absolute path) with arguments, without a shell. For
/// programs that this one chose itself: is_command_allowed is not asked.
/// Errors: [data/pipe], as above.
std::string read_program(const std::vector<std::string>& words, const CommandLimits& limits);

}  // namespace s2s::files

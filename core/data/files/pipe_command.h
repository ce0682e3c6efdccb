#pragma once
// Runs shell commands whose standard output is data ("pipe:gunzip -c x.gz").

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/command_rules.h"

namespace s2s::files {

/// Returns the command of a "pipe:CMD" source, or nothing for other sources.
std::optional<std::string> pipe_command(std::string_view source);

/// Whether the source is a URL such as "s3://bucket/name".
bool is_url(std::string_view source);

/// Runs `command` with /bin/sh and returns its standard output. It has its own process group, so a
/// ^C in the terminal does not reach it. It is done when its output has ended and the shell has
/// ended. Processes that it left running with an open standard error are not waited for.
/// Errors: [data/command-refused] unless is_command_allowed; [data/pipe] with its exit status or
/// signal and the end of its standard error, also when it exceeds a limit, which ends its group.
std::string read_command(const std::string& command, const CommandLimits& limits);
std::string read_command(const std::string& command);

/// Runs a program (words[0], an absolute path) with arguments and without a shell. It is for
/// programs that this program chose itself, so is_command_allowed is not called.
/// Errors: [data/pipe], as above.
std::string read_program(const std::vector<std::string>& words, const CommandLimits& limits);

}  // namespace s2s::files

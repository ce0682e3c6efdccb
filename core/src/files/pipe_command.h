#pragma once
// Data that a shell command writes to its standard output ("pipe:gunzip -c x.gz").

#include <optional>
#include <string>
#include <string_view>

namespace s2s::files {

/// The command of a "pipe:CMD" source; nothing for other sources.
std::optional<std::string> pipe_command(std::string_view source);

/// True for "s3://bucket/name" and the like.
bool is_url(std::string_view source);

/// All that `command` writes to its standard output, run by /bin/sh.
/// Errors: [data/pipe] with its exit status or signal and the end of its standard error.
std::string read_command(const std::string& command);

}  // namespace s2s::files

#pragma once
// What a shell command writes, for audio sources of type "command" and paths that begin with pipe:.

#include <memory>
#include <string>

namespace s2s::data {

/// All of the command's standard output (by /bin/sh; standard error goes where ours goes).
/// Errors: std::runtime_error when it cannot be started or ends with another status than 0.
std::shared_ptr<const std::string> command_output(const std::string& command);

}  // namespace s2s::data

#pragma once
// A line or two at the end of each command's --help.

#include <string>

namespace s2s::run {

/// Returns the example of a command, which its words name ("data synth"); "" when it has none.
std::string example_footer(const std::string& words);

}  // namespace s2s::run

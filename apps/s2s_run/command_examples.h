#pragma once
// Examples at the end of each command's --help.

#include <string>

namespace s2s::run {

/// Returns the example of a command ("data synth"); "" when it has none.
std::string example_footer(const std::string& words);

}  // namespace s2s::run

#pragma once
// Texts made of the tree of commands: the completions of three shells, and the manual page.

#include <string>

#include "s2s_run/completion/command_tree.h"

namespace s2s::run {

/// Returns a script that bash sources: `source <(s2s-run completion bash)`, or a file of
/// share/bash-completion/completions. It completes file names where a value may be a file.
std::string bash_completion(const CommandSpec& program);

/// Returns a script that zsh sources, or the file `_s2s-run` of a folder of its `fpath`.
std::string zsh_completion(const CommandSpec& program);

/// Returns a script that fish sources, or a file of its folder `completions`.
std::string fish_completion(const CommandSpec& program);

/// Returns the manual page of section 1, in the man macros of roff.
std::string manual_page(const CommandSpec& program, const std::string& version);

}  // namespace s2s::run

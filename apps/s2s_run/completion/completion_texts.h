#pragma once
// Texts that are generated from the command tree: completions of three shells, and the manual page.

#include <string>
#include <vector>

#include "base/text.h"
#include "s2s_run/command_tree.h"

namespace s2s::run {

/// Returns a script that bash sources: `source <(s2s-run completion bash)`, or a file of
/// share/bash-completion/completions. It completes file names where a value may be a file.
std::string bash_completion(const CommandSpec& program);

/// Returns a script that zsh sources, or the file `_s2s-run` of a folder of its `fpath`.
std::string zsh_completion(const CommandSpec& program);

/// Returns a script that fish sources, or a file of its folder `completions`.
std::string fish_completion(const CommandSpec& program);

/// Returns the manual page of section 1, in the man macros of roff.
std::string manual_page(const CommandSpec& program);

/// Returns a command and all its descendants; a group comes before its commands.
std::vector<const CommandSpec*> flattened(const CommandSpec& command);

// A completion reads the words of a line one by one and keeps the command that they name so far, ""
// at first. These tables list its transitions: COMMAND, a space and the next word.

/// Returns the transitions to a command: " data", "data synth".
std::vector<std::string> steps_to_commands(const CommandSpec& program);
/// Returns the transitions after which another command begins: "launch local --".
std::vector<std::string> steps_to_start(const CommandSpec& program);
/// Returns the transitions after which a value follows: "data synth --seed".
std::vector<std::string> steps_to_values(const CommandSpec& program);

/// Returns `text` in single quotes, as bash and zsh read it.
std::string shell_quoted(const std::string& text);

}  // namespace s2s::run

#pragma once
// The commands and options of s2s-run, as --help knows them, for what is generated from them: shell
// completions and the manual page.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace s2s::run {

/// An option or a positional argument.
struct OptionSpec {
  std::vector<std::string> names;    // "-n", "--num-ranks"; the one name of a positional
  std::string description;           // one line
  std::string value;                 // "INT"; empty: a flag
  std::string default_value;         // "" when --help shows none
  std::vector<std::string> choices;  // all values that it takes; empty: any
  bool is_positional = false;
  bool is_required = false;
  bool is_repeated = false;

  bool takes_value() const { return !is_positional && !value.empty(); }
  bool is_number() const { return value == "INT" || value == "UINT" || value == "FLOAT"; }
};

/// A command, or a group of commands.
struct CommandSpec {
  std::string words;  // "data synth"; "" of the program itself
  std::string name;   // "synth"; "s2s-run" of the program itself
  std::string description;
  std::vector<std::string> examples;  // command lines
  std::vector<OptionSpec> options;    // in the order of --help
  std::vector<OptionSpec> inherited;  // options of the groups above, which may stand here, too
  std::vector<CommandSpec> commands;  // of a group

  /// True when other words of s2s-run follow behind `--`: "launch local".
  bool runs_command() const;
  /// `options` and `inherited` without positional arguments.
  std::vector<OptionSpec> all_options() const;
  std::vector<OptionSpec> positionals() const;
};

/// Returns the tree below `app` without commands and options that --help hides.
CommandSpec read_commands(const CLI::App& app);

/// Returns a command and all below it; a group stands before its commands.
std::vector<const CommandSpec*> flattened(const CommandSpec& command);

// A completion reads the words of a line one by one and keeps the command that they name so far, ""
// at first. These tables are the steps of that walk: COMMAND, a blank and the next word.

/// Returns the steps that lead to a command: " data", "data synth".
std::vector<std::string> steps_to_commands(const CommandSpec& program);
/// Returns the steps behind which another command begins: "launch local --".
std::vector<std::string> steps_to_start(const CommandSpec& program);
/// Returns the steps behind which a value stands: "data synth --seed".
std::vector<std::string> steps_to_values(const CommandSpec& program);

/// Returns `text` in single quotes, as bash and zsh read it.
std::string shell_quoted(const std::string& text);

/// Returns the texts with `separator` between them.
std::string joined(const std::vector<std::string>& texts, const std::string& separator);

}  // namespace s2s::run

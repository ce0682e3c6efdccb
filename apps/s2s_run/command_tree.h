#pragma once
// The tree of commands and options of s2s-run, from which shell completions and the manual page are
// generated.

#include <string>
#include <vector>

namespace s2s::run {

class Command;

/// An option or a positional argument.
struct OptionSpec {
  std::vector<std::string> names;    // "-n", "--num-ranks"; the one name of a positional
  std::string description;           // one line
  std::string value;                 // "INT"; empty: a flag
  std::string default_value;         // "" when --help shows none
  std::vector<std::string> choices;  // all accepted values; empty: any
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
  std::vector<OptionSpec> inherited;  // options of parent groups, which are also accepted here
  std::vector<CommandSpec> commands;  // of a group

  /// True when another command of s2s-run follows after `--`, as for "launch local".
  bool runs_command() const;
  /// `options` and `inherited`, without positional arguments.
  std::vector<OptionSpec> all_options() const;
  std::vector<OptionSpec> positionals() const;
};

/// Returns the command tree, without commands and options that --help hides.
CommandSpec read_commands(const Command& program);

}  // namespace s2s::run

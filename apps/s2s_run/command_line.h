#pragma once
// Commands, their arguments and their --help. CLI11 parses the command line. Its templates are slow
// to compile, so only command_line.cc, command_tree.cc and program.cc include it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "run/run_program.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace s2s {
struct SearchInputs;
}

namespace s2s::run {

/// Options that all commands share. `plugin_paths` are the values of --plugin-path.
struct Invocation : RunProgram {
  bool untrusted = false;         // --untrusted
  bool json = false;              // --json: machine-readable tables
  std::function<int()> selected;  // runs the selected command
  /// Where a `plugin` command searches for plugins; `config`: its --config, "" for none.
  SearchInputs (*search)(const Invocation& invocation, const std::string& config) = nullptr;
};

/// An option or a positional argument of a command. If a check refuses a value, the message names
/// the value and what was expected.
class Argument {
 public:
  Argument(CLI::Option* option) : option_(option) {}

  Argument required() const;
  /// --help shows the current value of the variable as the default.
  Argument shows_default() const;
  /// One word may contain several values.
  Argument separated_by(char delimiter) const;
  /// The option is repeated for each value; it does not take the next word, too.
  Argument takes_one() const;

  Argument positive() const;
  Argument not_negative() const;
  /// At least 0; --help shows it.
  Argument says_not_negative() const;
  /// Above 0 and at most 1.
  Argument share() const;
  /// At least 0.
  Argument whole_number() const;
  Argument between(int least, int most) const;
  Argument one_of(const std::vector<std::string>& values) const;
  /// Bytes: 4096, 500MB, 2GiB. `kb_is_1000`: whether kB means 1000 bytes or 1024.
  Argument size_in_bytes(bool kb_is_1000) const;
  /// Bytes of a size with its unit: 80GB (powers of 1000), 80GiB (of 1024).
  Argument size_with_unit() const;
  /// `problem` returns the problem with a value, or "". --help shows `expected`.
  Argument check(std::string (*problem)(const std::string& value),
                 const std::string& expected) const;

  Argument needs(const Argument& other) const;
  Argument excludes(const Argument& other) const;
  bool is_given() const;

 private:
  CLI::Option* option_;
};

/// A command, a group of commands or the whole program. It refers to objects that live in
/// `run_program`.
class Command {
 public:
  Command(CLI::App* app, Invocation* invocation) : app_(app), invocation_(invocation) {}

  Command command(const std::string& name, const std::string& description) const;
  /// A command that only groups others: "data" of "data synth".
  Command group(const std::string& name, const std::string& description) const;
  Command hidden() const;

  /// An option ("-n,--num-ranks") or a positional argument ("config"). `value` is any of the types
  /// at the end of command_line.cc.
  template <class Value>
  Argument option(const std::string& names, Value& value, const std::string& description) const;
  Argument flag(const std::string& names, bool& value, const std::string& description) const;
  Argument flag(const std::string& names, void (*action)(), const std::string& description) const;
  void json(const std::string& description) const {
    flag("--json", invocation_->json, description);
  }
  void force(bool& value) const { flag("--force", value, "overwrite existing output"); }

  /// Sets the function of the command, which returns the exit code.
  void runs(std::function<int()> run) const;
  /// The same. Returns the arguments, to which the options write; they live as long as the program.
  template <class Arguments>
  std::remove_cvref_t<Arguments>& runs(int (*run)(Arguments, const Invocation&)) const {
    const auto arguments = std::make_shared<std::remove_cvref_t<Arguments>>();
    runs([arguments, run, invocation = invocation_] { return run(*arguments, *invocation); });
    return *arguments;
  }

  Invocation& invocation() const { return *invocation_; }
  const CLI::App& app() const { return *app_; }

 private:
  CLI::App* app_;
  Invocation* invocation_;
};

}  // namespace s2s::run

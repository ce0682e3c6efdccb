#include "s2s_run/command_tree.h"

#include <CLI/CLI.hpp>
#include <sstream>

#include "s2s_run/command_line.h"

namespace s2s::run {

namespace {

/// CLI11 describes an option with choices as "TEXT:{wav,flac}".
std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> choices;
  const size_t begin = type.find(":{");
  const size_t end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return choices;
  std::istringstream in(type.substr(begin + 2, end - begin - 2));
  for (std::string choice; std::getline(in, choice, ',');) choices.push_back(choice);
  return choices;
}

std::string on_one_line(std::string text) {
  for (char& c : text) c = c == '\n' ? ' ' : c;
  return text;
}

OptionSpec read_option(const CLI::Option& option) {
  OptionSpec spec;
  spec.is_positional = !option.nonpositional();
  for (const std::string& name : option.get_snames()) spec.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) spec.names.push_back("--" + name);
  if (spec.is_positional) spec.names = {option.get_name(/*positional=*/true)};
  spec.description = on_one_line(option.get_description());
  const bool is_flag = option.get_items_expected_max() == 0;
  const std::string type = option.get_type_name();
  if (!is_flag) spec.value = type.substr(0, type.find_first_of(": "));
  if (!is_flag && spec.value.empty()) spec.value = "VALUE";
  spec.default_value = option.get_default_str();
  spec.choices = choices_of(type);
  spec.is_required = option.get_required();
  spec.is_repeated = option.get_items_expected_max() >= CLI::detail::expected_max_vector_size;
  return spec;
}

/// The lines of an "Example:" at the end of the help.
std::vector<std::string> examples_of(const CLI::App& app) {
  std::vector<std::string> examples;
  std::istringstream in(app.get_footer());
  for (std::string line; std::getline(in, line);) {
    const size_t begin = line.find_first_not_of(' ');
    if (begin != std::string::npos && begin > 0) examples.push_back(line.substr(begin));
  }
  return examples;
}

/// `above`: options of the groups above.
CommandSpec read_command(const CLI::App& app, const std::string& words,
                         std::vector<OptionSpec> above) {
  CommandSpec command;
  command.words = words;
  command.name = app.get_name();
  command.description = on_one_line(app.get_description());
  command.examples = examples_of(app);
  command.inherited = above;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    command.options.push_back(read_option(*option));
    const bool is_inherited = command.options.back().takes_value();
    if (is_inherited) above.push_back(command.options.back());
  }
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (below->get_group().empty()) continue;
    const std::string name = below->get_name();
    command.commands.push_back(
        read_command(*below, words.empty() ? name : words + " " + name, above));
  }
  return command;
}

}  // namespace

bool CommandSpec::runs_command() const {
  const std::vector<OptionSpec> positional = positionals();
  return !positional.empty() && positional.back().is_repeated &&
         positional.back().names.front() == "command";
}

std::vector<OptionSpec> CommandSpec::all_options() const {
  std::vector<OptionSpec> all;
  for (const std::vector<OptionSpec>* some : {&options, &inherited}) {
    for (const OptionSpec& option : *some) {
      if (!option.is_positional) all.push_back(option);
    }
  }
  return all;
}

std::vector<OptionSpec> CommandSpec::positionals() const {
  std::vector<OptionSpec> all;
  for (const OptionSpec& option : options) {
    if (option.is_positional) all.push_back(option);
  }
  return all;
}

CommandSpec read_commands(const Command& program) { return read_command(program.app(), "", {}); }

}  // namespace s2s::run

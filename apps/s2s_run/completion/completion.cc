// s2s-run completion bash|zsh|fish|man: generates shell completions and the manual page from the
// commands and options in --help.

#include <cstdio>
#include <string>

#include "s2s_run/completion/completion_texts.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

namespace {

void add_flattened(const CommandSpec& command, std::vector<const CommandSpec*>& all) {
  all.push_back(&command);
  for (const CommandSpec& below : command.commands) add_flattened(below, all);
}

}  // namespace

std::vector<const CommandSpec*> flattened(const CommandSpec& command) {
  std::vector<const CommandSpec*> all;
  add_flattened(command, all);
  return all;
}

std::vector<std::string> steps_to_commands(const CommandSpec& program) {
  std::vector<std::string> all;
  for (const CommandSpec* command : flattened(program)) {
    const bool is_below_program = command->words == command->name;
    if (!command->words.empty()) all.push_back((is_below_program ? " " : "") + command->words);
  }
  return all;
}

std::vector<std::string> steps_to_start(const CommandSpec& program) {
  std::vector<std::string> all;
  for (const CommandSpec* command : flattened(program)) {
    if (command->runs_command()) all.push_back(command->words + " --");
  }
  return all;
}

std::vector<std::string> steps_to_values(const CommandSpec& program) {
  std::vector<std::string> all;
  for (const CommandSpec* command : flattened(program)) {
    for (const OptionSpec& option : command->all_options()) {
      if (!option.takes_value()) continue;
      for (const std::string& name : option.names) all.push_back(command->words + " " + name);
    }
  }
  return all;
}

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

void setup_completion(const Command& program) {
  const Command group = program.group("completion", "print shell completions or the manual page");
  const auto add = [&](const char* name, const char* about,
                       std::string (*text)(const CommandSpec&)) {
    group.command(name, about).runs([program, text] {
      std::fputs(text(read_commands(program)).c_str(), stdout);
      return 0;
    });
  };
  add("bash", "print a completion script for bash", bash_completion);
  add("zsh", "print a completion script for zsh", zsh_completion);
  add("fish", "print a completion script for fish", fish_completion);
  add("man", "print the manual page of s2s-run (roff)", manual_page);
}

}  // namespace s2s::run

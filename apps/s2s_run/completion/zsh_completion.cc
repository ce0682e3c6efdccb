#include "s2s_run/completion/completion_texts.h"

namespace s2s::run {

namespace {

/// Removes the words up to the command's name; _arguments handles the rest.
constexpr const char* kZshHead = R"(#compdef s2s-run
# zsh completion for s2s-run, made by `s2s-run completion zsh`
compdef _s2s-run s2s-run

_s2s-run() {
  local command='' word
  local -i i at=1
  local -a commands
  for ((i = 2; i < CURRENT; ++i)); do
    word=$words[i]
    case "$command $word" in
      (' help') at=i ;;
)";

constexpr const char* kZshArguments = R"(    esac
  done
  words=("${(@)words[at,-1]}")
  ((CURRENT -= at - 1))
  case "$command" in
)";

constexpr const char* kZshTail = R"(  esac
}

# Not when the file is sourced: zsh calls a file of its fpath for the first completion.
if [[ "$funcstack[1]" = '_s2s-run' ]]; then
  _s2s-run
fi
)";

/// Escapes the special characters of _arguments with backslashes.
std::string zsh_escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == ':' || c == '[' || c == ']') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string zsh_action(const OptionSpec& option) {
  if (!option.choices.empty()) return "(" + joined(option.choices, " ") + ")";
  return option.is_number() ? " " : "_files";
}

std::string zsh_pattern(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(shell_quoted(word));
  return "      (" + joined(quoted, " | \\\n       ") + ")";
}

std::string zsh_walk(const CommandSpec& program) {
  std::string text =
      zsh_pattern(steps_to_commands(program)) + " command=\"${command:+$command }$word\" at=i ;;\n";
  const std::vector<std::string> starts = steps_to_start(program);
  if (!starts.empty()) text += zsh_pattern(starts) + " command='' at=i ;;\n";
  return text + zsh_pattern(steps_to_values(program)) + " ((++i)) ;;\n";
}

/// One argument of _arguments: '(-n --num-ranks)'{-n,--num-ranks}'[how many]:INT: '
std::string zsh_option(const OptionSpec& option) {
  std::string spec = "[" + zsh_escaped(option.description) + "]";
  if (option.takes_value()) {
    spec += ":" + zsh_escaped(option.value) + ":" + zsh_action(option);
  }
  const std::string repeated = option.is_repeated ? "*" : "";
  if (option.names.size() == 1) return shell_quoted(repeated + option.names.front() + spec);
  const std::string others =
      option.is_repeated ? "'*'" : shell_quoted("(" + joined(option.names, " ") + ")");
  return others + "{" + joined(option.names, ",") + "}" + shell_quoted(spec);
}

std::string zsh_positional(const OptionSpec& option, size_t position) {
  const std::string place = option.is_repeated ? "*" : std::to_string(position);
  return shell_quoted(place + ":" + zsh_escaped(option.names.front()) + ":" + zsh_action(option));
}

std::string zsh_command(const CommandSpec& command) {
  std::string text = "    (" + shell_quoted(command.words) + ")\n";
  std::string arguments = "      _arguments -s";
  const auto add = [&](const std::string& one) { arguments += " \\\n        " + one; };
  for (const OptionSpec& option : command.all_options()) add(zsh_option(option));
  size_t position = 0;
  for (const OptionSpec& option : command.positionals()) add(zsh_positional(option, ++position));
  if (!command.commands.empty()) {
    text += "      commands=(\n";
    for (const CommandSpec& below : command.commands) {
      const std::string name = zsh_escaped(below.name) + ":" + below.description;
      text += "        " + shell_quoted(name) + "\n";
    }
    if (command.words.empty()) text += "        'help:print the help of a command'\n";
    text += "      )\n";
    add("'1:command:{ _describe -t commands command commands }'");
  }
  return text + arguments + "\n      ;;\n";
}

}  // namespace

std::string zsh_completion(const CommandSpec& program) {
  std::string commands;
  for (const CommandSpec* command : flattened(program)) commands += zsh_command(*command);
  return kZshHead + zsh_walk(program) + kZshArguments + commands + kZshTail;
}

}  // namespace s2s::run

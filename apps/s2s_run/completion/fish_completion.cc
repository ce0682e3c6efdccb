#include "s2s_run/completion/completion_texts.h"

namespace s2s::run {

namespace {

constexpr const char* kFishHead =
    R"(# fish completion for s2s-run, made by `s2s-run completion fish`
# Whether the words so far name the command $argv[1].
function __s2s_run_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l command ''
    set -l is_value 0
    for word in $words
        if test $is_value = 1
            set is_value 0
            continue
        end
        switch "$command $word"
)";

constexpr const char* kFishTail = R"(        end
    end
    test "$command" = "$argv[1]"
end

complete -c s2s-run -e
)";

/// Quotes `text` for fish: single quotes, with a backslash before a quote and a backslash.
std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string fish_case(const std::vector<std::string>& words, const std::string& does) {
  if (words.empty()) return "";
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(fish_quoted(word));
  return "            case " + joined(quoted, " \\\n                ") + "\n                " +
         does + "\n";
}

std::string fish_walk(const CommandSpec& program) {
  return fish_case(steps_to_commands(program), "set command (string trim -- \"$command $word\")") +
         fish_case(steps_to_start(program), "set command ''") +
         fish_case(steps_to_values(program), "set is_value 1");
}

/// True when file names are not valid values.
bool has_no_files(const OptionSpec& option) {
  return !option.choices.empty() || option.is_number();
}

std::string fish_option(const std::string& at, const OptionSpec& option) {
  std::string text = at;
  for (const std::string& name : option.names) {
    text += name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (option.takes_value()) text += has_no_files(option) ? " -x" : " -r -F";
  if (!option.choices.empty()) text += " -a " + fish_quoted(joined(option.choices, " "));
  return text + " -d " + fish_quoted(option.description) + "\n";
}

/// `at`: "complete -c s2s-run -n '...'"
std::string fish_command(const CommandSpec& command) {
  const std::string at =
      "complete -c s2s-run -n " + fish_quoted("__s2s_run_at " + fish_quoted(command.words));
  std::string text;
  for (const CommandSpec& below : command.commands) {
    text += at + " -f -a " + below.name + " -d " + fish_quoted(below.description) + "\n";
  }
  if (command.words.empty()) text += at + " -f -a help -d 'print the help of a command'\n";
  for (const OptionSpec& option : command.all_options()) text += fish_option(at, option);
  return text;
}

}  // namespace

std::string fish_completion(const CommandSpec& program) {
  std::string text = kFishHead + fish_walk(program) + kFishTail;
  for (const CommandSpec* command : flattened(program)) text += fish_command(*command);
  return text;
}

}  // namespace s2s::run

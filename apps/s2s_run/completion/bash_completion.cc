#include "s2s_run/completion/completion_texts.h"

namespace s2s::run {

namespace {

/// The script without its tables. Bash splits "--format=wav" into three entries of COMP_WORDS.
constexpr const char* kBashHead =
    R"(# bash completion for s2s-run, made by `s2s-run completion bash`
_s2s_run() {
  local current=${COMP_WORDS[COMP_CWORD]} command='' option='' word words=''
  local -i i position=0
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    case "$command $word" in
      ' help') ;;
)";

constexpr const char* kBashValues = R"()
        option=$word
        [[ ${COMP_WORDS[i + 1]} != = ]] || ((++i))
        ((++i))
        ((i >= COMP_CWORD)) || option=''
        ;;
)";

constexpr const char* kBashAsk = R"(      *) [[ $word = -* ]] || ((++position)) ;;
    esac
  done
  [[ $current != = ]] || current=''
  if [[ -n $option ]]; then
    case "$command $option" in
)";

constexpr const char* kBashOptions = R"(    esac
  elif [[ $current = -* ]]; then
    case "$command" in
)";

constexpr const char* kBashCommands = R"(    esac
  else
    case "$command $position" in
)";

constexpr const char* kBashTail = R"(    esac
  fi
  [[ -n $words ]] || return 0
  compopt +o default +o bashdefault 2> /dev/null
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o bashdefault -o default -F _s2s_run s2s-run
)";

std::string bash_pattern(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(shell_quoted(word));
  return "      " + joined(quoted, " | \\\n      ");
}

/// A line of a table: the candidates at a place.
std::string bash_row(const std::string& place, const std::vector<std::string>& words) {
  return "      " + shell_quoted(place) + ") words=" + shell_quoted(joined(words, " ")) + " ;;\n";
}

/// Parses the words that name a command. Its arguments begin after them.
std::string bash_walk(const CommandSpec& program) {
  std::string text = bash_pattern(steps_to_commands(program)) +
                     ")\n        command=\"${command:+$command }$word\"\n" +
                     "        position=0\n        ;;\n";
  const std::vector<std::string> starts = steps_to_start(program);
  if (!starts.empty()) text += bash_pattern(starts) + ") command='' position=0 ;;\n";
  return text + bash_pattern(steps_to_values(program)) + kBashValues;
}

/// A number has no candidates. An empty candidate prevents the completion of file names.
std::string bash_values(const CommandSpec& command) {
  std::string text;
  for (const OptionSpec& option : command.all_options()) {
    for (const std::string& name : option.names) {
      const std::string place = command.words + " " + name;
      if (!option.choices.empty()) text += bash_row(place, option.choices);
      if (option.takes_value() && option.choices.empty() && option.is_number()) {
        text += "      " + shell_quoted(place) + ") words=' ' ;;\n";
      }
    }
  }
  return text;
}

std::string bash_options(const CommandSpec& command) {
  std::vector<std::string> names;
  for (const OptionSpec& option : command.all_options()) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return bash_row(command.words, names);
}

std::string bash_commands(const CommandSpec& command) {
  if (command.commands.empty()) return "";
  std::vector<std::string> names;
  for (const CommandSpec& below : command.commands) names.push_back(below.name);
  if (command.words.empty()) names.emplace_back("help");
  return bash_row(command.words + " 0", names);
}

}  // namespace

std::string bash_completion(const CommandSpec& program) {
  std::string values, options, commands;
  for (const CommandSpec* command : flattened(program)) {
    values += bash_values(*command);
    options += bash_options(*command);
    commands += bash_commands(*command);
  }
  return kBashHead + bash_walk(program) + kBashAsk + values + kBashOptions + options +
         kBashCommands + commands + kBashTail;
}

}  // namespace s2s::run

#include <map>

#include "s2s_run/completion/completion_texts.h"

namespace s2s::run {

namespace {

constexpr const char* kManualTail = R"(.SH "EXIT STATUS"
.TP
.B 0
success
.TP
.B 1
a check found something wrong, or the system failed
.TP
.B 2
usage
.TP
.B 3
configuration
.TP
.B 4
plugin
.TP
.B 5
data
.TP
.B 6
numerics
.TP
.B 7
communication
.TP
.B 8
a run stopped on request and wrote a checkpoint; the same command resumes it
.SH "SEE ALSO"
The documentation is in
.I share/s2s/docs
below the folder where s2s is installed; begin with
.IR README.md .
.I reference/errors.md
explains every error.
)";

/// Escapes text for roff, so that it contains no requests, and dashes are those of options.
std::string roff_escaped(const std::string& text) {
  static const std::map<char, std::string> kEscapes = {
      {'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"}, {'"', "\\(dq"},
      {'`', "\\(ga"}, {'~', "\\(ti"}, {'^', "\\(ha"},
  };
  std::string escaped;
  for (const char c : text) {
    const auto found = kEscapes.find(c);
    escaped += found == kEscapes.end() ? std::string(1, c) : found->second;
  }
  return escaped.starts_with(".") ? "\\&" + escaped : escaped;
}

std::string roff_bold(const std::string& text) { return "\\fB" + roff_escaped(text) + "\\fR"; }
std::string roff_italic(const std::string& text) { return "\\fI" + roff_escaped(text) + "\\fR"; }

/// The value of an option as in --help: its choices, or its type.
std::string roff_value(const OptionSpec& option) {
  if (option.choices.empty()) return roff_italic(option.value);
  return roff_escaped(joined(option.choices, "|"));
}

/// ".TP", the option, and its description.
std::string roff_option(const OptionSpec& option) {
  std::string text;
  for (const std::string& name : option.names) {
    text += text.empty() ? "" : ", ";
    text += option.is_positional ? roff_italic(name) : roff_bold(name);
  }
  if (option.takes_value()) text += " " + roff_value(option);
  if (option.is_repeated) text += " ...";
  std::string about = option.description;
  if (option.is_required && !option.is_positional) about += " (required)";
  if (!option.default_value.empty()) about += " (default: " + option.default_value + ")";
  return ".TP\n" + text + "\n" + roff_escaped(about) + "\n";
}

std::string roff_options(const CommandSpec& command) {
  std::string text;
  for (const OptionSpec& option : command.positionals()) text += roff_option(option);
  for (const OptionSpec& option : command.options) {
    const bool is_help = option.names.back() == "--help" && !command.words.empty();
    if (!option.is_positional && !is_help) text += roff_option(option);
  }
  return text;
}

/// s2s-run data synth [OPTIONS] out
std::string roff_synopsis(const CommandSpec& command) {
  std::string text = roff_bold("s2s-run " + command.words) + " [" + roff_italic("options") + "]";
  for (const OptionSpec& option : command.positionals()) {
    const std::string name = roff_italic(option.names.front()) + (option.is_repeated ? "..." : "");
    text += option.is_required ? " " + name : " [" + name + "]";
  }
  return text;
}

std::string roff_command(const CommandSpec& command) {
  std::string text = ".SS \"s2s\\-run " + roff_escaped(command.words) + "\"\n" +
                     roff_synopsis(command) + "\n.PP\n" + roff_escaped(command.description) + "\n" +
                     roff_options(command);
  if (command.examples.empty()) return text;
  text += ".PP\n" + std::string(command.examples.size() > 1 ? "Examples:" : "Example:") +
          "\n.PP\n.nf\n.RS\n";
  for (const std::string& example : command.examples) text += roff_escaped(example) + "\n";
  return text + ".RE\n.fi\n";
}

}  // namespace

std::string manual_page(const CommandSpec& program) {
  const size_t colon = program.description.find(": ");
  const std::string about =
      colon == std::string::npos ? program.description : program.description.substr(colon + 2);
  std::string text = ".\\\" made by `s2s-run completion man`\n.TH S2S\\-RUN 1 \"\" \"s2s " +
                     roff_escaped(S2S_VERSION_TEXT) +
                     "\" \"User Commands\"\n.SH NAME\ns2s\\-run \\- " + roff_escaped(about) +
                     "\n.SH SYNOPSIS\n" + roff_bold("s2s-run") + " [" + roff_italic("options") +
                     "] " + roff_italic("command") + " ...\n";
  text += ".SH DESCRIPTION\n" + roff_bold("s2s-run") + " " + roff_escaped(about) + ".\n.PP\n" +
          roff_bold("s2s-run help") + " " + roff_italic("command") +
          " prints the help of a command.\n.SH OPTIONS\n" + roff_options(program) +
          ".SH COMMANDS\n";
  for (const CommandSpec* command : flattened(program)) {
    if (command->commands.empty()) text += roff_command(*command);
  }
  return text + kManualTail;
}

}  // namespace s2s::run

// s2s-run completion bash|zsh|fish|man: shell completions and the manual page, made of the commands
// and options that --help knows.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "s2s_run/completion/completion_texts.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

namespace {

std::string versioned_page(const CommandSpec& program) {
  return manual_page(program, S2S_VERSION_TEXT);
}

void add_completion(CLI::App& group, Invocation& invocation, const char* name, const char* about,
                    std::string (*text)(const CommandSpec&)) {
  CLI::App* const command = group.add_subcommand(name, about);
  command->callback([&invocation, &program = *group.get_parent(), text] {
    invocation.selected = [&program, text] {
      std::fputs(text(read_commands(program)).c_str(), stdout);
      return 0;
    };
  });
}

}  // namespace

void setup_completion(CLI::App& app, Invocation& invocation) {
  CLI::App& group = command_group(app, "completion", "print shell completions or the manual page");
  add_completion(group, invocation, "bash", "a script for bash to source", bash_completion);
  add_completion(group, invocation, "zsh", "a script for zsh to source", zsh_completion);
  add_completion(group, invocation, "fish", "a script for fish to source", fish_completion);
  add_completion(group, invocation, "man", "the manual page of s2s-run, as roff", versioned_page);
}

}  // namespace s2s::run

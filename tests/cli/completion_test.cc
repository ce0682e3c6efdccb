// Completions and the manual page are made of the options that --help shows, and the programs that
// read them take them.

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "cli/command.h"
#include "common/contains.h"
#include "common/temporary_folder.h"

using s2s::test::CommandResult;
using s2s::test::has;
using s2s::test::run_cli;
using s2s::test::run_shell;
using s2s::test::TemporaryFolder;

namespace {

/// The text of `completion SHELL` in a file.
std::string completion_file(const TemporaryFolder& folder, const std::string& shell) {
  const CommandResult made = run_cli("completion " + shell);
  REQUIRE_MESSAGE(made.exit_code == 0, made.output);
  const std::string file = folder / shell;
  std::ofstream(file, std::ios::binary) << made.output;
  return file;
}

/// False, with a message, where a program is not installed.
bool is_installed(const std::string& program) {
  const bool is_there = run_shell("command -v " + program).exit_code == 0;
  if (!is_there) MESSAGE("skipped: " << program << " is not installed");
  return is_there;
}

/// What bash offers in the place of the last of these words, each in quotes for the shell.
std::string offered(const std::string& file, const std::string& words) {
  const std::string script = "source " + file + "; COMP_WORDS=(s2s-run " + words +
                             "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _s2s_run; " +
                             "printf \"%s \" \"${COMPREPLY[@]}\"";
  return run_shell("bash -c '" + script + "'").output;
}

}  // namespace

TEST_CASE("bash completes commands, options and their choices") {
  const TemporaryFolder folder;
  const std::string file = completion_file(folder, "bash");
  for (const auto& [words, expected] : {std::pair("trai", "train "),
                                        {"data syn", "synth "},
                                        {"data synth --form", "--format "},
                                        {"data synth --format \"\"", "wav flac "},
                                        {"data synth --format = fl", "flac "},
                                        {"data synth --seed 3 --plugin-p", "--plugin-path "},
                                        {"--plugin-path data trai", "train "},
                                        {"help data sh", "shar "},
                                        {"bench tra", "train "},
                                        {"completion \"\"", "bash zsh fish man "},
                                        {"new --template \"\"", "tiny demo "},
                                        {"launch local -n 2 -- data synth --format w", "wav "}}) {
    CAPTURE(words);
    CHECK(offered(file, words) == expected);
  }
  // Bash offers files where it gets no words, but not for a number.
  CHECK(offered(file, "train my.y") == " ");
  CHECK(offered(file, "data synth --seed \"\"") == " ");
  CHECK(s2s::test::contains(offered(file, "\"\""), "train validate generate"));
}

TEST_CASE("the completions of all shells have every command, and none that is hidden") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    CAPTURE(shell);
    const CommandResult made = run_cli(std::string("completion ") + shell);
    CHECK(made.exit_code == 0);
    for (const char* part :
         {"'data synth'", "'checkpoint export'", "'launch local'", "skip-bad", "plugin-path"}) {
      CHECK_MESSAGE(has(made, part), part);
    }
    CHECK_FALSE(has(made, "check-in-this-process"));
  }
}

TEST_CASE("bash, zsh and fish find no mistake in their completions") {
  const TemporaryFolder folder;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    if (!is_installed(shell)) continue;
    const CommandResult read =
        run_shell(std::string(shell) + " -n " + completion_file(folder, shell));
    CHECK_MESSAGE(read.exit_code == 0, read.output);
    CHECK_MESSAGE(read.output.empty(), read.output);
  }
}

TEST_CASE("fish completes commands and choices") {
  if (!is_installed("fish")) return;
  const TemporaryFolder folder;
  const std::string file = completion_file(folder, "fish");
  const auto offered_by_fish = [&](const std::string& line) {
    return run_shell("fish --no-config -c 'source " + file + "; complete -C \"" + line + "\"'");
  };
  CHECK(offered_by_fish("s2s-run data sy").output.starts_with("synth\t"));
  CHECK(offered_by_fish("s2s-run data synth --format fl").output.starts_with("flac\t"));
}

TEST_CASE("the manual page has every command and is read without warnings") {
  const TemporaryFolder folder;
  const std::string file = completion_file(folder, "man");
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  for (const char* part :
       {".TH S2S\\-RUN 1", ".SS \"s2s\\-run data synth\"", "\\fB\\-\\-format\\fR wav|flac",
        "random seed of the data set (default: 1)", ".SH \"EXIT STATUS\""}) {
    CHECK_MESSAGE(s2s::test::contains(text.str(), part), part);
  }
  if (!is_installed("groff")) return;
  const CommandResult read = run_shell("groff -man -ww -Tascii -z " + file);
  CHECK_MESSAGE(read.exit_code == 0, read.output);
  CHECK_MESSAGE(read.output.empty(), read.output);
}

TEST_CASE("a completion for an unknown shell is answered with the known ones") {
  const CommandResult unknown = run_cli("completion tcsh");
  CHECK(unknown.exit_code == 2);
  CHECK_MESSAGE(has(unknown, "error: [usage/command] s2s-run completion has no command 'tcsh'"),
                unknown.output);
  CHECK(has(unknown, "known:     bash, zsh, fish, man"));
}

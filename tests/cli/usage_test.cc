// What s2s-run says about a command line that it does not understand.

#include <doctest/doctest.h>

#include "cli/command.h"

using s2s::test::CommandResult;
using s2s::test::has;
using s2s::test::run_cli;

TEST_CASE("an unknown command is named, with the nearest one") {
  const CommandResult result = run_cli("trian x.yaml");
  CHECK(result.exit_code == 2);
  CHECK_MESSAGE(has(result, "error: [usage/command] s2s-run has no command 'trian'"),
                result.output);
  CHECK(has(result, "did you mean 'train'?"));
  CHECK(has(result, "see:       s2s-run --help"));
}

TEST_CASE("an unknown or missing command of a group is told with the group's commands") {
  const CommandResult unknown = run_cli("plugin lits");
  CHECK(unknown.exit_code == 2);
  CHECK_MESSAGE(has(unknown, "s2s-run plugin has no command 'lits'"), unknown.output);
  CHECK(has(unknown, "did you mean 'list'?"));
  CHECK(has(unknown, "known:     list, path, inspect, check, new\n"));  // none that is hidden
  for (const char* group : {"data", "config", "tokenizer", "bench", "plugin"}) {
    const CommandResult result = run_cli(std::string(group) + " frob");
    CHECK(result.exit_code == 2);
    CHECK_MESSAGE(has(result, std::string("error: [usage/command] s2s-run ") + group +
                                  " has no command 'frob'\n  known:     "),
                  result.output);
    CHECK(has(result, std::string("see:       s2s-run ") + group + " --help\n"));
  }
  const CommandResult missing = run_cli("config");
  CHECK(missing.exit_code == 2);
  CHECK_MESSAGE(has(missing, "s2s-run config: a command is missing"), missing.output);
  CHECK(has(missing, "show, check"));
  CHECK(run_cli("").exit_code == 2);
}

TEST_CASE("arguments that are missing or not known say which command wants what") {
  const CommandResult missing = run_cli("train");
  CHECK(missing.exit_code == 2);
  CHECK_MESSAGE(has(missing, "error: [usage/arguments] s2s-run train: config is required"),
                missing.output);
  CHECK(has(missing, "s2s-run train --help"));
  const CommandResult unknown = run_cli("plugin list --jsno");
  CHECK(unknown.exit_code == 2);
  CHECK_MESSAGE(has(unknown, "[usage/arguments] s2s-run plugin list: "), unknown.output);
  CHECK(has(unknown, "--jsno"));
}

TEST_CASE("every command explains itself") {
  for (const char* command : {"",
                              "train",
                              "validate",
                              "generate",
                              "plan",
                              "compare",
                              "config",
                              "config show",
                              "config check",
                              "data",
                              "data synth",
                              "data inspect",
                              "plugin",
                              "plugin list",
                              "plugin inspect",
                              "plugin path",
                              "plugin check",
                              "tokenizer",
                              "tokenizer encode",
                              "tokenizer decode",
                              "tokenizer train",
                              "bench"}) {
    const CommandResult result = run_cli(std::string(command) + " --help");
    CAPTURE(command);
    CHECK(result.exit_code == 0);
    CHECK(has(result, "Usage: s2s-run"));
  }
  CHECK(run_cli("--version").exit_code == 0);
}

TEST_CASE("a number that an option does not take is named with what it takes") {
  for (const std::string value : {"x", "0", "-3", "1e999"}) {
    const CommandResult result = run_cli("bench train some.yaml --steps " + value);
    CHECK(result.exit_code == 2);
    CHECK_MESSAGE(has(result, "--steps: '" + value + "'; expected a number above 0"),
                  result.output);
  }
}

TEST_CASE("a checkpoint that is not there is said before anything else is missed") {
  const std::string config = S2S_SOURCE_DIR "/configs/tiny.yaml";
  const CommandResult result =
      run_cli("validate " + config + " tiny.data=no/such/data --checkpoint no/such/step=3");
  CHECK_MESSAGE(has(result, "error: [checkpoint/missing] no checkpoint at no/such/step=3"),
                result.output);
}

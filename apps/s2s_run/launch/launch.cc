// s2s-run launch: starts the ranks of a run.

#include <CLI/CLI.hpp>
#include <filesystem>

#include "launch/local_launch.h"
#include "plugin/search_path.h"
#include "s2s/error.h"
#include "s2s_run/launch/launch_diagnose.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

constexpr const char* kCommandDoc =
    "what every rank runs: a command of s2s-run with its words, behind `--`";

Error nested_error() {
  return {ExitCode::kUsage, "usage/arguments",
          "s2s-run launch local: a rank cannot launch ranks; give the command itself, for example "
          "'train CONFIG'"};
}

void add_launch_local(CLI::App& group, Invocation& invocation) {
  CLI::App* const command = group.add_subcommand("local", "start ranks on this machine");
  auto settings = std::make_shared<launch::LocalLaunchSettings>();
  command->add_option("-n,--num-ranks", settings->num_ranks, "how many processes")
      ->required()
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--restarts", settings->restarts,
                   "start the run again this often when a rank fails; it goes on from its newest "
                   "checkpoint")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--grace", settings->grace_s, "seconds from the request to stop to the kill")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--log-dir", settings->log_folder,
                      "folder for the output of all ranks but rank 0");
  command->add_option("command", settings->words, kCommandDoc)->required();
  command->callback([settings, &invocation] {
    invocation.selected = [settings, &invocation] {
      if (settings->words.front() == "launch") throw nested_error();
      settings->program = this_executable();
      std::vector<std::string> words;
      for (const std::string& path : invocation.plugin_paths) {
        words.insert(words.end(), {"--plugin-path", path});
      }
      settings->words.insert(settings->words.begin(), words.begin(), words.end());
      return launch::launch_local(*settings);
    };
  });
}

}  // namespace

void setup_launch(CLI::App& app, Invocation& invocation) {
  CLI::App& group = command_group(app, "launch", "start a run of several processes");
  add_launch_local(group, invocation);
  add_launch_diagnose(group, invocation);
}

}  // namespace s2s::run

// s2s-run launch: starts the ranks of a run.

#include <filesystem>

#include "launch/local_launch.h"
#include "plugin/search_path.h"
#include "s2s/error.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

constexpr const char* kCommandDoc =
    "command for each rank: an s2s-run command with its arguments, after `--`";

Error nested_error() {
  return {ExitCode::kUsage, "usage/arguments",
          "s2s-run launch local: a rank cannot launch ranks; give the command itself, for example "
          "'train CONFIG'"};
}

int launch_ranks(launch::LocalLaunchSettings settings, const Invocation& invocation) {
  if (settings.words.front() == "launch") throw nested_error();
  settings.program = this_executable();
  std::vector<std::string> words;
  for (const std::string& path : invocation.plugin_paths) {
    words.insert(words.end(), {"--plugin-path", path});
  }
  settings.words.insert(settings.words.begin(), words.begin(), words.end());
  return launch::launch_local(settings);
}

void add_launch_local(const Command& group) {
  const Command command = group.command("local", "start several ranks on this machine");
  launch::LocalLaunchSettings& settings = command.runs(launch_ranks);
  command.option("-n,--num-ranks", settings.num_ranks, "number of processes")
      .required()
      .between(1, 1024);
  command
      .option("--restarts", settings.restarts,
              "maximum number of restarts after a rank fails; the run resumes from its newest "
              "checkpoint")
      .says_not_negative();
  command.option("--grace", settings.grace_s, "seconds between the request to stop and the kill")
      .says_not_negative()
      .shows_default();
  command.option("--log-dir", settings.log_folder,
                 "folder for the output of all ranks except rank 0");
  command.option("command", settings.words, kCommandDoc).required();
}

}  // namespace

void setup_launch(const Command& program) {
  const Command group =
      program.group("launch", "start a multi-process run, or diagnose a failed one");
  add_launch_local(group);
  setup_launch_diagnose(group);
}

}  // namespace s2s::run

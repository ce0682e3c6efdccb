// s2s-run launch: starts the ranks of a run.

#include <optional>
#include <string_view>

#include "base/number_text.h"
#include "launch/local_launch.h"
#include "plugin/search_path.h"
#include "s2s/error.h"
#include "s2s_run/launch/launch_commands.h"

namespace s2s::run {
namespace {

struct LocalArguments {
  launch::LocalLaunchSettings settings;
  std::optional<int64_t> num_ranks, restarts;
  std::string elastic;  // "MIN:MAX"
};

Error usage_error(const std::string& problem) {
  return {ExitCode::kUsage, "usage/arguments",
          "s2s-run launch local: " + problem + "\n  see:       s2s-run launch local --help"};
}

std::string range_problem(const std::string& text) {
  const size_t colon = text.find(':');
  const auto low = read_number<int>(std::string_view(text).substr(0, colon));
  const auto high = colon == std::string::npos
                        ? std::optional<int>()
                        : read_number<int>(std::string_view(text).substr(colon + 1));
  const bool is_range = low && high && *low >= 1 && *low <= *high && *high <= 1024;
  return is_range ? "" : "'" + text + "'; expected MIN:MAX, for example 2:4";
}

/// Between MIN and MAX ranks. The run must know for how many its configuration is meant.
void set_elastic(const LocalArguments& arguments, launch::LocalLaunchSettings& settings) {
  const std::string_view text = arguments.elastic;
  settings.min_ranks = *read_number<int>(text.substr(0, text.find(':')));
  settings.num_ranks = *read_number<int>(text.substr(text.find(':') + 1));
  settings.restarts =
      static_cast<int>(arguments.restarts.value_or(settings.num_ranks - settings.min_ranks));
  if (settings.words.front() == "train") {
    settings.words.push_back("trainer.elastic_ranks=" + std::to_string(settings.num_ranks));
  }
}

int launch_ranks(LocalArguments arguments, const Invocation& invocation) {
  launch::LocalLaunchSettings& settings = arguments.settings;
  require_rank_command("local", settings.words);
  if (arguments.num_ranks.has_value() == !arguments.elastic.empty()) {
    throw usage_error("give the number of ranks: --num-ranks N, or --elastic MIN:MAX");
  }
  if (arguments.num_ranks) settings.num_ranks = static_cast<int>(*arguments.num_ranks);
  settings.restarts = static_cast<int>(arguments.restarts.value_or(0));
  if (!arguments.elastic.empty()) set_elastic(arguments, settings);
  settings.program = this_executable();
  add_plugin_paths(settings.words, invocation);
  return launch::launch_local(settings);
}

void add_launch_local(const Command& group) {
  const Command command = group.command("local", "start several ranks on this machine");
  LocalArguments& arguments = command.runs(launch_ranks);
  launch::LocalLaunchSettings& settings = arguments.settings;
  command.option("-n,--num-ranks", arguments.num_ranks, "number of processes").between(1, 1024);
  command
      .option(
          "--elastic", arguments.elastic,
          "MIN:MAX processes: starts MAX, and after a failure again with one less, down to MIN; "
          "an optimizer step keeps its micro-batches where they can be divided")
      .check(range_problem, "MIN:MAX");
  command
      .option("--rejoin", settings.rejoin_s,
              "with --elastic: seconds after which fewer processes stop with a checkpoint and all "
              "start again; 0: never")
      .says_not_negative();
  command
      .option("--restarts", arguments.restarts,
              "maximum number of restarts after a rank fails; the run resumes from its newest "
              "checkpoint")
      .says_not_negative();
  command.option("--grace", settings.grace_s, "seconds between the request to stop and the kill")
      .says_not_negative()
      .shows_default();
  command.option("--log-dir", settings.log_folder,
                 "folder for the output of all ranks except rank 0");
  command.option("command", settings.words, kRankCommandDoc).required();
}

}  // namespace

void add_plugin_paths(std::vector<std::string>& words, const Invocation& invocation) {
  std::vector<std::string> paths;
  for (const std::string& path : invocation.plugin_paths) {
    paths.insert(paths.end(), {"--plugin-path", path});
  }
  words.insert(words.begin(), paths.begin(), paths.end());
}

void require_rank_command(const std::string& launcher, const std::vector<std::string>& words) {
  if (words.front() != "launch") return;
  throw Error(ExitCode::kUsage, "usage/arguments",
              "s2s-run launch " + launcher +
                  ": a rank cannot launch ranks; give the command itself, for example "
                  "'train CONFIG'");
}

void setup_launch(const Command& program) {
  const Command group =
      program.group("launch", "start a multi-process run, or diagnose a failed one");
  add_launch_local(group);
  setup_launch_node(group);
  setup_launch_ssh(group);
  setup_launch_pdsh(group);
  setup_launch_slurm(group);
  setup_launch_kubernetes(group);
  setup_launch_ray(group);
  setup_launch_deepspeed(group);
  setup_launch_fsdp(group);
  setup_launch_launcher(group);
  setup_launch_diagnose(group);
}

}  // namespace s2s::run

// s2s-run launch ray: prints the entry of a Ray job.

#include <cstdio>

#include "launch/ray_entry.h"
#include "s2s_run/launch/launch_commands.h"

namespace s2s::run {
namespace {

int launch_ray(launch::RayJob job, const Invocation& invocation) {
  require_rank_command("ray", job.words);
  add_plugin_paths(job.words, invocation);
  const std::string text = launch::ray_entry(job);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace

void setup_launch_ray(const Command& group) {
  const Command command = group.command(
      "ray", "print the entry of a Ray job, a Python program that starts a rank on each placement");
  launch::RayJob& job = command.runs(launch_ray);
  command.option("-n,--num-ranks", job.num_ranks, "number of ranks on all nodes")
      .between(1, 1 << 20)
      .shows_default();
  command.option("--gpus-per-rank", job.num_gpus, "GPUs of each rank")
      .not_negative()
      .shows_default();
  command.option("--cpus-per-rank", job.num_cpus, "CPU cores of each rank")
      .not_negative()
      .shows_default();
  command.option("--env", job.environment, "NAME=VALUE for the ranks; may be repeated").takes_one();
  command.option("--program", job.program, "path of s2s-run on the nodes").shows_default();
  command.option("command", job.words, kRankCommandDoc).required();
}

}  // namespace s2s::run

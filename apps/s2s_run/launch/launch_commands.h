#pragma once
// What the commands of `launch` share.

#include <string>
#include <vector>

#include "s2s_run/subcommands.h"

namespace s2s::run {

constexpr const char* kRankCommandDoc =
    "command for each rank: an s2s-run command with its arguments, after `--`";

/// Puts the invocation's --plugin-path before the words of a rank's command.
void add_plugin_paths(std::vector<std::string>& words, const Invocation& invocation);
/// Errors: [usage/arguments] when the command of a rank is itself a launcher.
void require_rank_command(const std::string& launcher, const std::vector<std::string>& words);

void setup_launch_kubernetes(const Command& group);
void setup_launch_node(const Command& group);
void setup_launch_pdsh(const Command& group);
void setup_launch_ray(const Command& group);
void setup_launch_slurm(const Command& group);
void setup_launch_ssh(const Command& group);

}  // namespace s2s::run

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

/// The command line of this process, as a comment of what it writes.
std::string own_command_line();
/// Writes a generated file and its folder; "-": to standard output. A file that `launch` wrote is
/// overwritten. Errors: [launch/output] when another one exists and `overwrites` is false,
/// [io/write].
void write_launch_file(const std::string& file, const std::string& text, bool overwrites);

/// A configuration in place of a rank's command, and the engine whose file it names.
struct ConfigWords {
  std::string config;
  bool uses_deepspeed = false, uses_fsdp = false;
};
Argument add_config_words(const Command& command, ConfigWords& words);
/// {"train", CONFIG, ...}. Errors: [usage/arguments] when both engines are chosen.
std::vector<std::string> words_of_config(const std::string& command, const ConfigWords& words);

void setup_launch_deepspeed(const Command& group);
void setup_launch_fsdp(const Command& group);
void setup_launch_kubernetes(const Command& group);
void setup_launch_launcher(const Command& group);
void setup_launch_node(const Command& group);
void setup_launch_pdsh(const Command& group);
void setup_launch_ray(const Command& group);
void setup_launch_slurm(const Command& group);
void setup_launch_ssh(const Command& group);

}  // namespace s2s::run

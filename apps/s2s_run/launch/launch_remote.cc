// s2s-run launch pdsh and launch ssh: start the ranks on the machines of a hostfile.

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "launch/remote_launch.h"
#include "plugin/search_path.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s_run/launch/launch_commands.h"

namespace s2s::run {
namespace {

struct RemoteArguments {
  launch::RemoteLaunchSettings settings;
  launch::HostFilter filter;
  std::string hostfile = "/job/hostfile";
  std::vector<std::string> environment, environment_files;
  std::optional<int64_t> num_nodes, num_slots;
  bool is_dry_run = false;
};

Error no_hostfile_error(const std::string& file) {
  return {ExitCode::kUsage, "launch/hostfile",
          file +
              ": cannot be read\n  expected:  HOST slots=NUMBER on each line\n"
              "  next:      give --hostfile FILE"};
}

std::vector<launch::HostSlots> read_hosts(const RemoteArguments& arguments) {
  std::string text;
  try {
    text = read_small_file(arguments.hostfile);
  } catch (const std::system_error&) {
    throw no_hostfile_error(arguments.hostfile);
  }
  launch::HostFilter filter = arguments.filter;
  if (arguments.num_nodes) filter.num_nodes = static_cast<int>(*arguments.num_nodes);
  if (arguments.num_slots) filter.num_slots = static_cast<int>(*arguments.num_slots);
  return launch::filter_hosts(launch::parse_hostfile(text, arguments.hostfile), filter);
}

/// Says which variables files of a folder bring, and which file is left out.
void tell_of_files(const RemoteArguments& arguments) {
  for (const std::string& file : arguments.environment_files) {
    std::string names;
    for (const auto& [name, value] : launch::read_environment_file(file)) {
      names += (names.empty() ? "" : ", ") + name;
    }
    std::fprintf(stderr, "s2s-run launch: %s sets %s\n", printable(file).c_str(),
                 names.empty() ? "nothing" : names.c_str());
  }
  const std::string unread = launch::unread_environment_file();
  const auto& named = arguments.environment_files;
  if (unread.empty() || !named.empty()) return;
  std::fprintf(stderr, "s2s-run launch: %s of this folder is not read; --env-file %s reads it\n",
               unread.c_str(), unread.c_str());
}

int launch_remote(RemoteArguments arguments, const Invocation& invocation) {
  launch::RemoteLaunchSettings& settings = arguments.settings;
  require_rank_command(settings.shell.is_pdsh ? "pdsh" : "ssh", settings.words);
  settings.hosts = read_hosts(arguments);
  settings.environment =
      launch::exported_environment(arguments.environment, arguments.environment_files);
  tell_of_files(arguments);
  settings.program = this_executable();
  settings.folder = std::filesystem::current_path().string();
  add_plugin_paths(settings.words, invocation);
  if (arguments.is_dry_run) {
    std::fputs(launch::shown_commands(settings).c_str(), stdout);
    return 0;
  }
  return launch::launch_remote(settings);
}

void add_hosts(const Command& command, RemoteArguments& arguments) {
  command
      .option("-H,--hostfile", arguments.hostfile,
              "file with a line 'HOST slots=N' for each machine")
      .shows_default();
  command.option("-i,--include", arguments.filter.include,
                 "hosts and slots to use: worker-0@worker-1:0,2");
  command.option("-e,--exclude", arguments.filter.exclude,
                 "hosts and slots not to use, written in the same way");
  command.option("--num-nodes,--num_nodes", arguments.num_nodes, "use the first hosts only");
  command.option("--num-gpus,--num_gpus", arguments.num_slots,
                 "use the first slots of each host only");
  command.option("--master-addr,--master_addr", arguments.settings.master_host,
                 "where ranks meet; the first host by default");
  command
      .option("--master-port,--master_port", arguments.settings.master_port,
              "port where ranks meet; another one at each start by default")
      .between(1, 65535);
}

void add_remote(const Command& command, RemoteArguments& arguments) {
  add_hosts(command, arguments);
  launch::RemoteLaunchSettings& settings = arguments.settings;
  command
      .option("--env", arguments.environment,
              "NAME=VALUE, or NAME with its value here, for the ranks; may be repeated. "
              "~/.deepspeed_env and NCCL*, PYTHON*, UCX*, OMP_*, S2S_* are taken along anyway")
      .takes_one();
  command
      .option("--env-file", arguments.environment_files,
              "file with lines NAME=VALUE, such as the .deepspeed_env of this folder; may be "
              "repeated")
      .takes_one();
  command
      .option("--launcher-args,--launcher_args", settings.shell.words,
              "another argument of the program that connects; may be repeated")
      .takes_one();
  command.option("--grace", settings.grace_s, "seconds between the request to stop and the kill")
      .says_not_negative()
      .shows_default();
  command.option("--log-dir", settings.log_folder,
                 "folder for the output of all ranks except rank 0");
  command.flag("--dry-run", arguments.is_dry_run, "print what would be started");
  command.option("command", settings.words, kRankCommandDoc).required();
}

}  // namespace

void setup_launch_pdsh(const Command& group) {
  const Command command = group.command("pdsh", "start ranks on several machines with pdsh");
  RemoteArguments& arguments = command.runs(launch_remote);
  arguments.settings.shell.is_pdsh = true;
  command.option("--module", arguments.settings.shell.module, "pdsh's module that connects")
      .shows_default();
  add_remote(command, arguments);
}

void setup_launch_ssh(const Command& group) {
  const Command command = group.command("ssh", "start ranks on several machines with ssh");
  RemoteArguments& arguments = command.runs(launch_remote);
  command
      .option("--ssh-port,--ssh_port", arguments.settings.shell.port,
              "port of the machines' ssh servers")
      .between(1, 65535);
  add_remote(command, arguments);
}

}  // namespace s2s::run

// s2s-run launch node: starts the ranks of one machine of a run on several.

#include "comm/launch_node.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <numeric>

#include "launch/local_launch.h"
#include "plugin/search_path.h"
#include "s2s/error.h"
#include "s2s_run/launch/launch_commands.h"

namespace s2s::run {
namespace {

struct NodeArguments {
  launch::LocalLaunchSettings settings;
  std::optional<int64_t> num_ranks, node, num_nodes, port;
  std::string host, process_file;
  std::vector<uint64_t> slots;       // ranks of each node
  std::vector<std::string> devices;  // devices of each node, "0,2"; "" for all
};

Error ranks_error(const std::string& problem) {
  return {ExitCode::kUsage, "launch/ranks",
          problem + "\n  next:      give --num-ranks, the number of ranks on each node"};
}

/// The file exists only while this process does, and another user cannot have made it.
class ProcessFile {
 public:
  explicit ProcessFile(std::string path) : path_(std::move(path)) {
    if (path_.empty()) return;
    const int file =
        ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    const std::string number = std::to_string(::getpid()) + "\n";
    const bool is_written = file >= 0 && ::write(file, number.data(), number.size()) ==
                                             static_cast<ssize_t>(number.size());
    const std::string reason = std::strerror(errno);
    if (file >= 0) ::close(file);
    if (!is_written) throw Error(ExitCode::kData, "io/write", path_ + ": " + reason);
  }
  ~ProcessFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  ProcessFile(const ProcessFile&) = delete;
  ProcessFile& operator=(const ProcessFile&) = delete;

 private:
  std::string path_;
};

/// Numbers the ranks of this node.
void place_node(const NodeArguments& arguments, const NodeEnvironment& environment,
                launch::LocalLaunchSettings& settings) {
  const auto node = static_cast<size_t>(environment.node);
  std::vector<uint64_t> slots = arguments.slots;
  if (slots.empty()) {
    const std::optional<int64_t> each =
        arguments.num_ranks ? arguments.num_ranks : environment.ranks_per_node;
    if (!each) throw ranks_error("the number of ranks of this node is not known");
    slots.assign(static_cast<size_t>(environment.num_nodes), static_cast<uint64_t>(*each));
  }
  if (static_cast<int64_t>(slots.size()) != environment.num_nodes) {
    throw ranks_error("--slots has " + std::to_string(slots.size()) + " numbers for " +
                      std::to_string(environment.num_nodes) + " nodes");
  }
  settings.num_ranks = static_cast<int>(slots[node]);
  const auto first = std::accumulate(slots.begin(), slots.begin() + environment.node, uint64_t{0});
  settings.node.first_rank = static_cast<int>(first);
  settings.node.world_size =
      static_cast<int>(std::accumulate(slots.begin(), slots.end(), uint64_t{0}));
  if (node < arguments.devices.size()) settings.node.devices = arguments.devices[node];
}

int launch_node(NodeArguments arguments, const Invocation& invocation) {
  require_rank_command("node", arguments.settings.words);
  const ProcessFile process(arguments.process_file);
  launch::LocalLaunchSettings& settings = arguments.settings;
  const NodeEnvironment environment =
      read_node_environment({arguments.node, arguments.num_nodes, arguments.host, arguments.port});
  settings.is_node = true;
  settings.node.host = environment.host;
  settings.node.port = environment.port;
  place_node(arguments, environment, settings);
  settings.program = this_executable();
  add_plugin_paths(settings.words, invocation);
  return launch::launch_local(settings);
}

void add_place(const Command& command, NodeArguments& arguments) {
  command.option("-n,--num-ranks", arguments.num_ranks,
                 "number of ranks on each node; PET_NPROC_PER_NODE by default");
  command.option("--num-nodes", arguments.num_nodes, "number of nodes");
  command.option("--node-rank", arguments.node, "number of this node, from 0");
  command.option("--master-addr", arguments.host, "host of node 0");
  command.option("--master-port", arguments.port, "port where the ranks meet");
  command.option("--slots", arguments.slots, "ranks of each node, where they differ: 8,4")
      .separated_by(',')
      .takes_one();
  command.option("--devices", arguments.devices, "devices of each node, where not all: 0,2/0,1,2,3")
      .separated_by('/')
      .takes_one();
}

}  // namespace

void setup_launch_node(const Command& group) {
  const Command command =
      group.command("node", "start this machine's ranks of a run on several machines");
  NodeArguments& arguments = command.runs(launch_node);
  launch::LocalLaunchSettings& settings = arguments.settings;
  add_place(command, arguments);
  command
      .option(
          "--retry-code", settings.retry_code,
          "exit code after failures that a new start may fix, and after a stop with a checkpoint")
      .between(1, 255);
  command.option("--grace", settings.grace_s, "seconds between the request to stop and the kill")
      .says_not_negative()
      .shows_default();
  command.option("--log-dir", settings.log_folder,
                 "folder for the output of all ranks except rank 0");
  command.option("--process-file", arguments.process_file,
                 "file for this process's number, which must not exist");
  command.flag("--report", settings.node.reports,
               "write records of ranks that fail, for the launcher of all nodes");
  command.flag("--with-input", settings.node.ends_with_input,
               "stop the ranks when standard input ends");
  command.option("command", settings.words, kRankCommandDoc).required();
}

}  // namespace s2s::run

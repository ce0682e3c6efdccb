#pragma once
// Plugins and processes of a command that has no configuration.

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "run/run_processes.h"
#include "s2s_run/bench/bench.h"

namespace s2s::run {

/// A block with these options.
inline Config node_of(std::initializer_list<std::pair<const char*, std::string>> options) {
  Config node = Config::map();
  for (const auto& [key, value] : options) node[key] = Config::scalar(value);
  return node;
}

/// All installed plugins.
struct CommandPlugins {
  explicit CommandPlugins(const Invocation& invocation)
      : host(process_search_inputs(invocation.plugin_paths)) {
    host.install(registries);
  }

  PluginHost host;
  Registries registries;
};

class CommandRanks {
 public:
  /// The facts and the errors are those of RunProcesses.
  CommandRanks(const Invocation& invocation, const RankArguments& arguments,
               const std::vector<AgreedFact>& facts)
      : plugins_(invocation),
        processes_(plugins_.host, plugins_.registries, read_launch_environment(), facts,
                   {milliseconds(arguments.start_timeout_s), milliseconds(arguments.timeout_s)},
                   node_of({{"name", arguments.communicator}}),
                   {.folder = arguments.record_folder,
                    .first_step_timeout = milliseconds(arguments.first_step_timeout_s)}) {}

  const Registries& registries() const { return plugins_.registries; }
  const RunProcesses& processes() const { return processes_; }

 private:
  CommandPlugins plugins_;
  RunProcesses processes_;
};

/// Reduces a number over all ranks. Waits for the device.
double over_ranks(Communicator& world, double value, Reduction reduction);

}  // namespace s2s::run

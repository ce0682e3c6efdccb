#pragma once
// Plugins and processes of a command that has no configuration.

#include <string>
#include <vector>

#include "run/run_processes.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

class CommandRanks {
 public:
  /// communicator: the component's name. The other parameters and the errors are those of
  /// RunProcesses.
  CommandRanks(const Invocation& invocation, const std::string& communicator,
               const std::vector<AgreedFact>& facts, const RendezvousSettings& settings = {},
               const FlightSettings& flight = {})
      : host_(process_search_inputs(invocation.plugin_paths)),
        processes_(installed(), registries_, read_launch_environment(), facts, settings,
                   named(communicator), flight) {}

  const Registries& registries() const { return registries_; }
  const RunProcesses& processes() const { return processes_; }

 private:
  const PluginHost& installed() {
    host_.install(registries_);
    return host_;
  }
  static Config named(const std::string& name) {
    Config node = Config::map();
    node["name"] = Config::scalar(name);
    return node;
  }

  PluginHost host_;
  Registries registries_;
  RunProcesses processes_;
};

}  // namespace s2s::run

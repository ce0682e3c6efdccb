#pragma once
// One rank of a run of processes, met and joined.

#include <ATen/Parallel.h>

#include <map>
#include <string>

#include "../plugins/built_plugins.h"
#include "comm/rendezvous.h"

namespace s2s::test {

class JoinedProcess {
 public:
  /// communicator: the component's name. options: of the component.
  explicit JoinedProcess(const std::string& communicator,
                         std::chrono::milliseconds timeout = std::chrono::minutes(2),
                         const std::map<std::string, std::string>& options = {})
      : rendezvous_(read_launch_environment(), {}, {std::chrono::minutes(1), timeout}) {
    at::set_num_threads(1);  // processes share the machine
    Config node = Config::map();
    node["name"] = Config::scalar(communicator);
    for (const auto& [key, value] : options) node[key] = Config::scalar(value);
    ProcessContext context;
    context.process = &rendezvous_.process();
    world_ = plugins_.create<Communicator>(node, context);
  }
  Communicator& world() { return *world_; }

 private:
  BuiltPlugins plugins_;
  Rendezvous rendezvous_;
  std::unique_ptr<Communicator> world_;
};

}  // namespace s2s::test

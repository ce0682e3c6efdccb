#pragma once
// Options that the training layer reads from a checked configuration (config/run_config.h).

#include <map>
#include <string>
#include <vector>

#include "config/run_blocks.h"

namespace s2s {

struct RunOptions {
  TrainerBlock trainer;
  ExpManagerBlock exp_manager;
  ModelBlock model;
  OptimizerBlock optimizer;
  CommunicatorBlock communicator;
  /// data.validation_ds.datasets: each set, with the options it inherits from validation_ds.
  std::map<std::string, Config> validation_sets;
};

/// Returns the node at a dotted path, or an empty map when the node is missing or null.
const Config& node_at(const Config& config, const std::string& path);

/// Reads `RunCheck::written`. Reports all findings together.
RunOptions read_run_options(const Config& config);

/// Returns the options of the model component: the `model` block without the trainer's own keys,
/// with the name of the component.
Config model_component(const Config& config);
/// Returns the options of the communicator `name`. The name replaces `auto` in the configuration.
Config communicator_component(const Config& config, const std::string& name);
/// The options of the optimizer component: `model.optimizer` without the trainer's own keys.
Config optimizer_component(const Config& config);

}  // namespace s2s

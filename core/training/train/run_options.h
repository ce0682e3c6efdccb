#pragma once
// What the training room reads of a checked configuration (config/run_config.h lists the keys).

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
  /// data.validation_ds.datasets: each set with what it inherits from validation_ds.
  std::map<std::string, Config> validation_sets;
};

/// The node at a dotted path; an empty map when it is not there, or null.
const Config& node_at(const Config& config, const std::string& path);

/// Reads `RunCheck::written`; all findings together.
RunOptions read_run_options(const Config& config);

/// The model component's node: the `model` block without what the trainer reads of it, and with the
/// component's name.
Config model_component(const Config& config);
/// The node of the communicator `name` (its name where the configuration says auto).
Config communicator_component(const Config& config, const std::string& name);
/// The optimizer component's node: `model.optimizer` without what the trainer reads of it.
Config optimizer_component(const Config& config);

}  // namespace s2s

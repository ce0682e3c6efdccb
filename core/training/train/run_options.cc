#include "train/run_options.h"

namespace s2s {
namespace {

/// The keys of a node that a component reads. The trainer's list must not report them as unknown.
std::vector<std::string> keys_of(const Config& node) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : node.entries()) keys.push_back(key);
  return keys;
}

template <HasOptions T>
void read_shared(const Config& node, const std::string& path, T& options, Findings& findings) {
  OptionReader(node, path, findings, keys_of(node)).read(options);
}

/// Returns `node` without the keys of an option struct.
template <HasOptions T>
Config without_keys_of(Config node) {
  for (const OptionRow& row : list_options<T>()) node.erase(row.name);
  return node;
}

}  // namespace

const Config& node_at(const Config& config, const std::string& path) {
  static const Config kEmpty = Config::map();
  const Config* const found = config.find_path(path);
  return found != nullptr && !found->is_null() ? *found : kEmpty;
}

RunOptions read_run_options(const Config& config) {
  RunOptions options;
  Findings findings;
  OptionReader(node_at(config, "trainer"), "trainer", findings).read(options.trainer);
  OptionReader(node_at(config, "exp_manager"), "exp_manager", findings).read(options.exp_manager);
  Config model = node_at(config, "model");
  if (model.find("type") == nullptr) model["type"] = Config::scalar("", true);  // already checked
  read_shared(model, "model", options.model, findings);
  read_shared(node_at(config, "model.optimizer"), "model.optimizer", options.optimizer, findings);
  read_shared(node_at(config, "trainer.communicator"), "trainer.communicator", options.communicator,
              findings);
  for (ValidationSet& set : validation_sets(config)) {
    options.validation_sets[set.name] = std::move(set.node);
  }
  findings.throw_if_any();
  return options;
}

Config model_component(const Config& config) {
  const Config& whole = node_at(config, "model");
  Config node = without_keys_of<ModelBlock>(whole);
  if (const Config* type = whole.find("type")) node["name"] = *type;
  return node;
}

Config optimizer_component(const Config& config) {
  return without_keys_of<OptimizerBlock>(node_at(config, "model.optimizer"));
}

Config communicator_component(const Config& config, const std::string& name) {
  Config node = without_keys_of<CommunicatorBlock>(node_at(config, "trainer.communicator"));
  node["name"] = Config::scalar(name, /*quoted=*/true);
  return node;
}

}  // namespace s2s

#include "s2s_run/run_setup.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "config/load_config.h"
#include "config/run_config.h"

namespace s2s::run {

RunSetup::RunSetup(const std::string& config_path, const std::vector<std::string>& overrides,
                   const Invocation& invocation)
    : config_(load_effective_config(config_path, overrides)) {
  without_effect_ = take_keys_without_effect(config_);
  const std::string config_dir = std::filesystem::path(config_path).parent_path().string();
  host_ = std::make_unique<PluginHost>(process_search_inputs(
      invocation.plugin_paths, config_, config_dir.empty() ? "." : config_dir));
  host_->install(registries_);
  builder_ = std::make_unique<RunBuilder>(config_, registries_);
}

void add_config_arguments(CLI::App& command, ConfigArguments& arguments) {
  command.add_option("config", arguments.path, "configuration file (YAML)")->required();
  command.add_option("overrides", arguments.overrides,
                     "changes: key.path=value, values in YAML; ~key removes");
}

}  // namespace s2s::run

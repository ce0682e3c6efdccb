#pragma once
// What every subcommand that works on a configuration begins with.

#include <memory>
#include <string>
#include <vector>

#include "plugin/plugin_host.h"
#include "s2s/registry.h"
#include "s2s_run/subcommands.h"
#include "train/run_builder.h"

namespace s2s::run {

/// The configuration, the plugins it names, and what is built from it.
class RunSetup {
 public:
  /// Reads `config_path`, applies `overrides` and searches for plugins.
  RunSetup(const std::string& config_path, const std::vector<std::string>& overrides,
           const Invocation& invocation);

  const Config& config() const { return config_; }
  const Registries& registries() const { return registries_; }
  const PluginHost& host() const { return *host_; }
  const RunBuilder& builder() const { return *builder_; }
  /// A line for each NeMo key that the configuration holds and that changes nothing here.
  const std::vector<std::string>& without_effect() const { return without_effect_; }

 private:
  std::vector<std::string> without_effect_;
  Config config_;
  Registries registries_;
  std::unique_ptr<PluginHost> host_;
  std::unique_ptr<RunBuilder> builder_;
};

/// Words CONFIG [key=value ...] of a command line.
struct ConfigArguments {
  std::string path;
  std::vector<std::string> overrides;
};
void add_config_arguments(CLI::App& command, ConfigArguments& arguments);

}  // namespace s2s::run

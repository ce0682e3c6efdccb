#pragma once
// A configuration as every command reads it: file, command line, plugins, and one check.

#include <memory>
#include <string>
#include <vector>

#include "config/run_check.h"
#include "plugin/plugin_host.h"
#include "s2s/registry.h"
#include "s2s_run/checkpoint/checkpoint_config.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

/// Words CONFIG [key=value ...] of a command line.
struct ConfigArguments {
  std::string path;
  std::vector<std::string> overrides;
};
void add_config_arguments(CLI::App& command, ConfigArguments& arguments);
/// CONFIG may be left out, for a command with --checkpoint: see complete_config.
void add_config_arguments_of_checkpoint(CLI::App& command, ConfigArguments& arguments);

/// Where plugins are searched for a run of the config file: its `plugins` block included, unless
/// the file is a checkpoint's (checkpoint_config.h), which is said on standard error.
/// Errors: those of reading the file and the block.
SearchInputs config_search_inputs(const std::vector<std::string>& plugin_paths,
                                  const std::string& config_path);

/// The checked configuration and the plugins it names. Nothing is run.
class CheckedConfig {
 public:
  /// `checkpoint`: the folder that the model's weights come from, or "" (the run's own, if it has
  /// one). Errors: those of reading the file and the overrides; everything else is a finding.
  CheckedConfig(const ConfigArguments& arguments, RunPurpose purpose, const Invocation& invocation,
                std::string checkpoint = "");
  /// The configuration that `checkpoint` brings, as far as its language model needs it
  /// (checkpoint_config.h). Errors: as above.
  CheckedConfig(const std::string& checkpoint, const Invocation& invocation);
  CheckedConfig(const CheckedConfig&) = delete;
  CheckedConfig& operator=(const CheckedConfig&) = delete;

  const RunCheck& check() const { return check_; }
  const Registries& registries() const { return registries_; }
  const PluginHost& host() const { return *host_; }
  /// What a checkpoint's configuration has lost; the check's notes say it, too.
  const DroppedParts& dropped() const { return dropped_; }

 private:
  void check_config(const Config& config, const std::string& file, RunPurpose purpose,
                    const Invocation& invocation);
  void open_host(const Config& config, const std::string& file, const Invocation& invocation,
                 Findings& findings);
  RunSchema schema(RunPurpose purpose) const;

  Registries registries_;
  std::unique_ptr<PluginHost> host_;
  std::string checkpoint_;
  DroppedParts dropped_;
  RunCheck check_;
};

}  // namespace s2s::run

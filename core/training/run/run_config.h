#pragma once
// A configuration as every command reads it: file, changes, plugins, and one check.

#include <memory>
#include <string>
#include <vector>

#include "config/run_check.h"
#include "plugin/plugin_host.h"
#include "run/checkpoint_config.h"
#include "run/run_program.h"
#include "s2s/registry.h"

namespace s2s::run {

/// Words CONFIG [key=value ...] of a command line.
struct ConfigArguments {
  std::string path;
  std::vector<std::string> overrides;
};

/// The checked configuration and the plugins it names. Nothing is run.
class RunConfig {
 public:
  /// `checkpoint`: the folder that the model's weights come from, or "" (the run's own, if it has
  /// one). Errors: those of reading the file and the overrides; everything else is a finding.
  RunConfig(const ConfigArguments& arguments, RunPurpose purpose, const RunProgram& program,
            std::string checkpoint = "");
  /// The configuration that `checkpoint` brings, as far as its language model needs it
  /// (checkpoint_config.h). Errors: as above.
  RunConfig(const std::string& checkpoint, const RunProgram& program);
  RunConfig(const RunConfig&) = delete;
  RunConfig& operator=(const RunConfig&) = delete;

  const RunCheck& check() const { return check_; }
  const Registries& registries() const { return registries_; }
  const PluginHost& host() const { return *host_; }
  /// What a checkpoint's configuration has lost; the check's notes say it, too.
  const DroppedParts& dropped() const { return dropped_; }

 private:
  void check_config(const Config& config, const std::string& file, RunPurpose purpose,
                    const RunProgram& program);
  void open_host(const Config& config, const std::string& file, const RunProgram& program,
                 Findings& findings);
  /// `program` must live as long as the schema.
  RunSchema schema(RunPurpose purpose, const RunProgram& program) const;

  Registries registries_;
  std::unique_ptr<PluginHost> host_;
  std::string checkpoint_;
  DroppedParts dropped_;
  RunCheck check_;
};

}  // namespace s2s::run

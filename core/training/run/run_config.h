#pragma once
// Reads a configuration in the same way for every command: file, overrides, plugins and check.

#include <memory>
#include <string>
#include <vector>

#include "config/run_check.h"
#include "plugin/plugin_host.h"
#include "run/checkpoint_config.h"
#include "run/run_program.h"
#include "s2s/registry.h"

namespace s2s::run {

/// The arguments CONFIG [key=value ...] of a command line.
struct ConfigArguments {
  std::string path;
  std::vector<std::string> overrides;
};

/// When a check builds the meta model. kLater: if the configuration has no findings, the
/// preparation of its run builds it.
enum class ModelCheck { kNow, kLater };

/// The checked configuration and its plugins. Runs nothing.
class RunConfig {
 public:
  /// `checkpoint`: the folder that provides the model's weights, or "". With "", the run's own
  /// checkpoint is used if there is one.
  /// Errors: those of reading the file and the overrides. All other errors become findings.
  RunConfig(const ConfigArguments& arguments, RunPurpose purpose, const RunProgram& program,
            std::string checkpoint = "", ModelCheck model = ModelCheck::kNow);
  /// Reads the part of the configuration in `checkpoint` that its language model needs
  /// (checkpoint_config.h). Errors: as above.
  RunConfig(const std::string& checkpoint, const RunProgram& program);
  RunConfig(const RunConfig&) = delete;
  RunConfig& operator=(const RunConfig&) = delete;

  const RunCheck& check() const { return check_; }
  const Registries& registries() const { return registries_; }
  const PluginHost& host() const { return *host_; }
  /// What was removed from a checkpoint's configuration. The notes of the check include it.
  const DroppedParts& dropped() const { return dropped_; }

 private:
  void check_config(const Config& config, const std::string& file, RunPurpose purpose,
                    const RunProgram& program, ModelCheck model);
  void translate();
  void try_parts(RunPurpose purpose, ModelCheck model);
  void open_host(const Config& config, const std::string& file, const RunProgram& program,
                 Findings& findings);
  RunSchema schema(RunPurpose purpose, const RunProgram& program) const;

  Registries registries_;
  std::unique_ptr<PluginHost> host_;
  std::string checkpoint_;
  DroppedParts dropped_;
  RunCheck check_;
};

}  // namespace s2s::run

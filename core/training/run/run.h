#pragma once
// The start that all programs have in common which run a configuration.

#include <string>
#include <vector>

#include "base/warnings.h"
#include "run/run_builder.h"
#include "run/run_config.h"
#include "s2s/kinds/communicator.h"

namespace s2s::run {

/// A configuration, its plugins, and the objects built from it.
class Run {
 public:
  /// `checkpoint`: the folder that provides the model's weights, or "". `program` must outlive this
  /// object.
  /// Errors: all findings of the configuration together.
  Run(const ConfigArguments& arguments, RunPurpose purpose, const RunProgram& program,
      const std::string& checkpoint = "");

  /// A run for a check, on the CPU. The configuration must have no findings; its warnings are not
  /// added to those of this object. `checked` and `program` must outlive this object.
  Run(const RunConfig& checked, const RunProgram& program);

  /// The configuration as written, with interpolations resolved.
  const Config& config() const { return config_; }
  const Registries& registries() const { return checked_.registries(); }
  const PluginHost& host() const { return checked_.host(); }
  const RunBuilder& builder() const { return *builder_; }
  RunBuilder& builder() { return *builder_; }
  const RunProgram& program() const { return program_; }
  /// Notes for the user about a valid configuration.
  std::vector<std::string> notes() const { return checked_.check().notes.brief(); }
  /// Warnings of the components. The command decides where to print them.
  Warnings& warnings() const { return *warnings_; }

 private:
  const RunProgram& program_;
  std::unique_ptr<RunConfig> own_;  // null: `checked_` belongs to the caller
  const RunConfig& checked_;
  Config config_;
  std::unique_ptr<Warnings> warnings_;
  std::unique_ptr<RunBuilder> builder_;
};

}  // namespace s2s::run

#pragma once
// What every program that runs a configuration begins with.

#include <string>
#include <vector>

#include "base/warnings.h"
#include "run/run_builder.h"
#include "run/run_config.h"
#include "s2s/kinds/communicator.h"

namespace s2s::run {

/// A configuration, the plugins it names, and what is built from it.
class Run {
 public:
  /// `checkpoint`: the folder that the model's weights come from, or "". `program` must live on.
  /// Errors: all findings of the configuration together.
  Run(const ConfigArguments& arguments, RunPurpose purpose, const RunProgram& program,
      const std::string& checkpoint = "");

  /// What was written, with interpolations resolved.
  const Config& config() const { return checked_.check().written; }
  const Registries& registries() const { return checked_.registries(); }
  const PluginHost& host() const { return checked_.host(); }
  const RunBuilder& builder() const { return *builder_; }
  RunBuilder& builder() { return *builder_; }
  const RunProgram& program() const { return program_; }
  /// What the user should know about the configuration although nothing is wrong.
  std::vector<std::string> notes() const { return checked_.check().notes.brief(); }
  /// What parts warn of; a command says where it goes.
  Warnings& warnings() const { return *warnings_; }

 private:
  const RunProgram& program_;
  RunConfig checked_;
  std::unique_ptr<Warnings> warnings_;
  std::unique_ptr<RunBuilder> builder_;
};

}  // namespace s2s::run

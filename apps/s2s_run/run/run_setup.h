#pragma once
// What every subcommand that runs a configuration begins with.

#include <string>
#include <vector>

#include "base/warnings.h"
#include "run/run_builder.h"
#include "s2s_run/config/checked_config.h"

namespace s2s::run {

/// The configuration, the plugins it names, and what is built from it.
class RunSetup {
 public:
  /// `checkpoint`: the folder that the model's weights come from, or "". Errors: all findings of
  /// the configuration together.
  RunSetup(const ConfigArguments& arguments, RunPurpose purpose, const Invocation& invocation,
           const std::string& checkpoint = "");

  /// What was written, with interpolations resolved.
  const Config& config() const { return checked_.check().written; }
  const Registries& registries() const { return checked_.registries(); }
  const PluginHost& host() const { return checked_.host(); }
  const RunBuilder& builder() const { return *builder_; }
  /// See RunBuilder::join.
  void join(const ProcessPlace& process, Communicator& world) { builder_->join(process, world); }
  /// See BuildContext::entropy: rank 0's, on all ranks.
  void set_entropy(uint64_t entropy) { builder_->set_entropy(entropy); }
  /// What the user should know about the configuration although nothing is wrong.
  std::vector<std::string> notes() const { return checked_.check().notes.brief(); }
  /// What parts warn of; a command says where it goes.
  Warnings& warnings() const { return *warnings_; }

 private:
  CheckedConfig checked_;
  std::unique_ptr<Warnings> warnings_;
  std::unique_ptr<RunBuilder> builder_;
};

}  // namespace s2s::run

#include "s2s_run/run/run_setup.h"

namespace s2s::run {

RunSetup::RunSetup(const ConfigArguments& arguments, RunPurpose purpose,
                   const Invocation& invocation, const std::string& checkpoint)
    : checked_(arguments, purpose, invocation, checkpoint),
      warnings_(std::make_unique<Warnings>()) {
  checked_.check().findings.throw_if_any();
  // A training run logs all its notes.
  const DroppedParts& dropped = checked_.dropped();
  for (const std::string& part : {dropped.plugins, dropped.commands}) {
    if (purpose != RunPurpose::kTrain && !part.empty()) warnings_->add(part);
  }
  for (const std::string& warning : checked_.check().notes.warnings) warnings_->add(warning);
  builder_ = std::make_unique<RunBuilder>(config(), registries(), *warnings_);
}

}  // namespace s2s::run

#include "run/run.h"

namespace s2s::run {

Run::Run(const ConfigArguments& arguments, RunPurpose purpose, const RunProgram& program,
         const std::string& checkpoint)
    : program_(program),
      checked_(arguments, purpose, program, checkpoint),
      warnings_(std::make_unique<Warnings>()) {
  checked_.check().findings.throw_if_any();
  // A training run logs all notes.
  const DroppedParts& dropped = checked_.dropped();
  for (const std::string& part : {dropped.plugins, dropped.commands}) {
    if (purpose != RunPurpose::kTrain && !part.empty()) warnings_->add(part);
  }
  for (const std::string& warning : checked_.check().notes.warnings) warnings_->add(warning);
  builder_ = std::make_unique<RunBuilder>(config(), registries(), *warnings_);
}

}  // namespace s2s::run

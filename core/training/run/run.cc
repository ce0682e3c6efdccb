#include "run/run.h"

namespace s2s::run {

Run::Run(const ConfigArguments& arguments, RunPurpose purpose, const RunProgram& program,
         const std::string& checkpoint)
    : program_(program),
      own_(std::make_unique<RunConfig>(arguments, purpose, program, checkpoint)),
      checked_(*own_),
      config_(checked_.check().written),
      warnings_(std::make_unique<Warnings>()) {
  checked_.check().findings.throw_if_any();
  // A training run logs all notes.
  const DroppedParts& dropped = checked_.dropped();
  for (const std::string& part : {dropped.plugins, dropped.commands}) {
    if (purpose != RunPurpose::kTrain && !part.empty()) warnings_->add(part);
  }
  for (const std::string& warning : checked_.check().notes.warnings) warnings_->add(warning);
  builder_ = std::make_unique<RunBuilder>(config(), registries(), *warnings_,
                                          own_names(host().scan(), KindName<Metric>::value));
}

Run::Run(const RunConfig& checked, const RunProgram& program)
    : program_(program),
      checked_(checked),
      config_(checked.check().written),
      warnings_(std::make_unique<Warnings>()) {
  config_["trainer"]["accelerator"] = Config::scalar("cpu");
  builder_ = std::make_unique<RunBuilder>(config(), registries(), *warnings_,
                                          own_names(host().scan(), KindName<Metric>::value));
}

}  // namespace s2s::run

#pragma once
// What a run's configuration has to say beyond types: blocks that a command needs, and values with
// a grammar of their own.

#include "s2s/error.h"
#include "s2s/options.h"

namespace s2s {

/// What a configuration is wanted for. All ask the same of what is written; they differ in what has
/// to be there.
enum class RunPurpose {
  kGenerate,  // a model
  kValidate,  // and validation sets
  kTrain,     // and optimizer, schedule, strategy and training data
  kPlan,      // a model, or a language model alone; the strategy may be sizes without a name
};

/// Whether a command of this purpose builds components of a kind ("logger"): a model is generated
/// from and validated where the plugins that trained it are not installed.
bool uses_kind(RunPurpose purpose, const std::string& kind);

/// What is noted of a component that is not installed and not used. `place`:
/// "model.optimizer.name".
std::string left_out_note(const std::string& place, const std::string& kind,
                          const std::string& name);

/// Adds a finding for each block that `purpose` needs and that is absent.
void check_needs(const Config& config, RunPurpose purpose, Findings& findings);

/// Adds a finding for each `???` that none is about yet, wherever it stands.
void check_missing(const Config& config, Findings& findings);

/// Adds the findings about durations and patterns of parameter names. Values of another type, and
/// those that kept their "${", are somebody else's findings.
void check_run_values(const Config& config, Findings& findings);

}  // namespace s2s

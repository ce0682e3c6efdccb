#pragma once
// Checks of a run's configuration beyond types: blocks that a command needs, and values with a
// syntax of their own.

#include "s2s/error.h"
#include "s2s/options.h"

namespace s2s {

/// What a configuration is used for. Purposes differ in what must be present, not in how it is
/// checked.
enum class RunPurpose {
  kGenerate,  // needs a model
  kValidate,  // also validation sets
  kTrain,     // also optimizer, schedule, strategy and training data
  kPlan,      // a model or only a language model; the strategy may have sizes but no name
};

/// True if a command of this purpose builds components of a kind ("logger"). Generation and
/// validation do not need the plugins that trained the model.
bool uses_kind(RunPurpose purpose, const std::string& kind);

/// The note about a component that is neither installed nor used. `place`: "model.optimizer.name".
std::string left_out_note(const std::string& place, const std::string& kind,
                          const std::string& name);

/// Adds a finding for each absent block that `purpose` needs.
void check_needs(const Config& config, RunPurpose purpose, Findings& findings);

/// Adds a finding for each `???` that no other finding is about.
void check_missing(const Config& config, Findings& findings);

/// Adds findings about durations and patterns of parameter names. Other checks report values of a
/// wrong type and unresolved values.
void check_run_values(const Config& config, Findings& findings);

}  // namespace s2s

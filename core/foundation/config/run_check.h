#pragma once
// Checks and completes a whole configuration. All commands read configurations through this.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/config_notes.h"
#include "config/run_values.h"
#include "config/unknown_keys.h"
#include "s2s/options.h"

namespace s2s {

/// What a check needs from plugins and from layers for other frameworks.
struct RunSchema {
  RunPurpose purpose = RunPurpose::kGenerate;
  /// Option tables of blocks by path: "plugins", "data" (without the data sets), and blocks of
  /// `data` with options of their own ("data.synth"). The check itself knows `trainer`,
  /// `exp_manager` and what the trainer reads of `model`.
  std::map<std::string, OptionTable> blocks;
  /// The table of a component; may load its plugin. `name_node` contains its name, `name_path` is
  /// that node's path ("model.llm.name"). Errors: [plugin/unknown] and others of loading.
  std::function<OptionTable(const std::string& kind, const std::string& name,
                            const Config& name_node, const std::string& name_path)>
      component;
  /// Kinds of components. A subtree with such a name and without a declared kind is a component.
  std::vector<std::string> kinds;
  KeyAdvice advice;
};

struct RunCheck {
  Findings findings;
  ConfigNotes notes;
  Config config;   // interpolated, with all defaults
  Config written;  // without defaults and blocks that only hold values: what is run
  std::set<std::string> referenced;  // blocks that interpolations refer to
  /// "optimizer", "schedule", "strategy", "model": those without findings. Only building them can
  /// find contradictions between their options.
  std::vector<std::string> buildable;
};

/// True if an error means a missing plugin that this purpose does not need. A plugin that trained a
/// model may be missing where the model is used.
bool is_left_out(RunPurpose purpose, const std::string& kind, const Error& error);

/// Starts a check: resolves the interpolations of `config`, to which overrides have been applied.
RunCheck resolve_run_config(const Config& config);

/// Checks and completes `check.config`. Collects all findings.
void check_run_config(RunCheck& check, const RunSchema& schema);

}  // namespace s2s

#pragma once
// Checks and completes a whole configuration. Every command that runs one reads it through this.

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

/// What a check needs to know of the plugins and of other frameworks.
struct RunSchema {
  RunPurpose purpose = RunPurpose::kGenerate;
  /// Tables of blocks by path: "plugins", "data" (its keys without the data sets), and blocks of
  /// `data` that hold options of their own ("data.synth"). `trainer`, `exp_manager` and what the
  /// trainer reads of `model` are known here.
  std::map<std::string, OptionTable> blocks;
  /// The table of a component; may load its plugin. `name_node` names it and stands at `name_path`
  /// ("model.llm.name"). Errors: [plugin/unknown] and others of loading.
  std::function<OptionTable(const std::string& kind, const std::string& name,
                            const Config& name_node, const std::string& name_path)>
      component;
  /// Kinds of components; a subtree of such a name that says no kind is one.
  std::vector<std::string> kinds;
  KeyAdvice advice;
};

struct RunCheck {
  Findings findings;
  ConfigNotes notes;
  Config config;   // interpolated, with every default
  Config written;  // what was written of that, without blocks that only held values: what is run
  std::set<std::string> referenced;  // blocks that interpolations refer to
  /// "optimizer", "schedule", "strategy", "model": those without findings. Their options may still
  /// contradict each other, which only building them can tell.
  std::vector<std::string> buildable;
};

/// Whether an error means that the plugin of a part is missing that this purpose does not need: a
/// plugin that trained a model need not be where the model is used.
bool is_left_out(RunPurpose purpose, const std::string& kind, const Error& error);

/// Begins a check: resolves the interpolations of `config`, which is as load_config and
/// apply_overrides left it.
RunCheck resolve_run_config(const Config& config);

/// Checks and completes `check.config`. Every finding is collected.
void check_run_config(RunCheck& check, const RunSchema& schema);

}  // namespace s2s

#pragma once
// Checks and completes a whole configuration. Every command that runs one reads it through this.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "config/config_notes.h"
#include "config/run_values.h"
#include "s2s/options.h"

namespace s2s {

/// What a check needs from the rooms above this one.
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
  /// Builds the optimizer, the schedule, the model or (to train) the strategy (kinds "optimizer",
  /// "schedule", "model", "strategy") of `config` without spending memory, and throws what it says
  /// about options that are each fine alone. Asked when their blocks had no findings; may be null.
  std::function<void(const std::string& kind, const Config& config)> try_build;
  /// Turns what other software calls differently into our keys, before anything is checked, with a
  /// note for each. May be null.
  std::function<void(Config& config, Findings& findings, ConfigNotes& notes)> translate;
  /// What to write instead of an unknown key below `path`; "" when nobody knows. May be null.
  std::function<std::string(const std::string& path, const std::string& key, const Config& value)>
      instead;
};

struct RunCheck {
  Findings findings;
  ConfigNotes notes;
  Config config;   // interpolated, without the keys of no effect, with every default
  Config written;  // what was written of that, without blocks that only held values: what is run
};

/// `config` as load_config and apply_overrides left it. Every finding is collected.
RunCheck check_run_config(const Config& config, const RunSchema& schema);

}  // namespace s2s

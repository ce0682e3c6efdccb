#pragma once
// What a check of a configuration does with its findings and with blocks that nobody reads.

#include <string>
#include <vector>

#include "config/config_notes.h"
#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s {

/// Orders findings, mistakes of the configuration first: their exit code is the run's. Equal ones
/// are said once, and so is a long list of known keys.
void sort_findings(Findings& findings);

/// Blocks of options that nobody knows and that are switched off, as `mtp: {enabled: false}`.
class SwitchedOff {
 public:
  /// True when `value` is such a block. It is noted then, once.
  bool take(const std::string& path, const std::string& key, const Config& value,
            ConfigNotes& notes);
  /// Removes the blocks from `config`, so that what is left can be read strictly. Those of a
  /// validation set may stand in `data.validation_ds`, which all sets inherit.
  void erase_from(Config& config) const;

 private:
  std::vector<std::string> paths_;
};

}  // namespace s2s

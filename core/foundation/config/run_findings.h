#pragma once
// Sorts the findings of a check, and removes blocks that nothing reads.

#include <string>
#include <vector>

#include "config/config_notes.h"
#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s {

/// Sorts findings. Errors of the configuration come first, so their exit code is the run's. Equal
/// findings, and a long list of known keys, appear once.
void sort_findings(Findings& findings);

/// Unknown blocks that are switched off, such as `mtp: {enabled: false}`.
class SwitchedOff {
 public:
  /// Returns true if `value` is such a block, and notes it once.
  bool take(const std::string& path, const std::string& key, const Config& value,
            ConfigNotes& notes);
  /// Removes the blocks from `config`, so that the rest can be read strictly. The block of a
  /// validation set may be in `data.validation_ds`, which all sets inherit.
  void erase_from(Config& config) const;

 private:
  std::vector<std::string> paths_;
};

}  // namespace s2s

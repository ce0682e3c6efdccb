#pragma once
// Which layers get an adapter of which size, as PEFT chooses them.
// Source: peft/tuners/tuners_utils.py check_target_module_exists, utils/other.py get_pattern_key.

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/regex.h"
#include "config/run_blocks.h"
#include "s2s/nn/name_map.h"

namespace s2s {

class LoraTargets {
 public:
  /// `names`: of the model in checkpoints, which PEFT's patterns are about.
  /// Errors: [lora/pattern] for text that is no regular expression, and for ranks that are none.
  LoraTargets(const LoraOptions& options, NameMap names);

  /// Whether the linear layer at this path of the model gets an adapter. Targets that match are
  /// remembered.
  bool takes(const std::string& path);
  int64_t rank(const std::string& path) const;
  double alpha(const std::string& path) const;
  /// Entries of target_modules that no layer has matched so far.
  const std::set<std::string>& unmatched() const { return unmatched_; }

 private:
  std::string their_name(const std::string& path) const;
  bool is_excluded(const std::string& path, const std::string& theirs) const;
  bool is_in_layers(const std::string& theirs) const;

  LoraOptions options_;
  NameMap names_;
  std::vector<std::string> targets_;
  std::optional<Regex> target_pattern_, exclude_pattern_;
  std::vector<Regex> layer_lists_;
  std::vector<std::pair<Regex, int64_t>> ranks_;
  std::vector<std::pair<Regex, double>> alphas_;
  std::set<std::string> unmatched_;
};

/// Whether the last segments of a path match the target, whose `*` matches one segment.
bool is_lora_target(const std::string& target, const std::string& path);

}  // namespace s2s

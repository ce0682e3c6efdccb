#pragma once
// Maps parameter names of a module to names in checkpoints of other software.

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace s2s {

/// One rule. Both patterns have the same number of `*`; each `*` matches one segment, which is
/// copied. A trailing `**` matches the rest of the path.
struct NameRule {
  std::string ours;    // "layers.**"
  std::string theirs;  // "model.layers.**"
};

/// An ordered list of rules; the first that matches wins.
struct NameMap {
  std::vector<NameRule> rules;
  /// Names in checkpoints that are not needed here
  /// ("model.layers.*.self_attn.rotary_emb.inv_freq").
  std::vector<std::string> ignored;
  /// Alternative names that other versions of the software write. Tried when a checkpoint does not
  /// have the first name ("language_model.model.**" for "model.**").
  std::vector<NameRule> other_spellings = {};

  /// Maps by the first rule that matches; empty: no rule does. Uses `rules` only.
  std::optional<std::string> to_theirs(const std::string& our_name) const;
  /// The first of the alternative names that a checkpoint has; to_theirs(our_name) when it has
  /// none.
  std::optional<std::string> to_theirs(
      const std::string& our_name, const std::function<bool(const std::string&)>& is_there) const;
  std::optional<std::string> to_ours(const std::string& their_name) const;
  bool is_ignored(const std::string& their_name) const;
};

}  // namespace s2s

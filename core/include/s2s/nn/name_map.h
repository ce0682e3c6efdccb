#pragma once
// How a part's parameter names relate to the names in somebody's checkpoint.

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace s2s {

/// One rule: both patterns have the same number of `*`, each matching one segment and copied over.
/// A trailing `**` matches the rest of the path.
struct NameRule {
  std::string ours;    // "layers.**"
  std::string theirs;  // "model.layers.**"
};

/// An ordered list of rules; the first that matches wins.
struct NameMap {
  std::vector<NameRule> rules;
  /// Names in checkpoints that mean nothing here ("model.layers.*.self_attn.rotary_emb.inv_freq").
  std::vector<std::string> ignored;
  /// Further spellings of what `rules` name, as other versions of their software write them; tried
  /// where a checkpoint has not the first ("language_model.model.**" for "model.**").
  std::vector<NameRule> other_spellings = {};

  /// By the first rule that matches; none: no rule does. `rules` only.
  std::optional<std::string> to_theirs(const std::string& our_name) const;
  /// The first spelling that a checkpoint has; to_theirs when it has none.
  std::optional<std::string> to_theirs(
      const std::string& our_name, const std::function<bool(const std::string&)>& is_there) const;
  std::optional<std::string> to_ours(const std::string& their_name) const;
  bool is_ignored(const std::string& their_name) const;
};

}  // namespace s2s

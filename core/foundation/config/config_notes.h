#pragma once
// What a user should know about a configuration although nothing is wrong with it: keys without
// effect, and other notes.

#include <string>
#include <vector>

#include "s2s/config.h"

namespace s2s {

/// A key that configurations of NeMo hold and that changes nothing here.
struct KeyWithoutEffect {
  std::string path;
  std::string reason;
  std::string only = "";  // values without effect: "false", "null|[]|0"; "": any value
};
const std::vector<KeyWithoutEffect>& keys_without_effect();

/// Removes those keys, so that what is left can be read strictly; returns a line for each that was
/// there: "PATH (origin): REASON".
std::vector<std::string> take_keys_without_effect(Config& config);

struct ConfigNotes {
  std::vector<std::string> without_effect;  // keys: "PATH (origin): REASON"
  std::vector<std::string> others;
  std::vector<std::string> warnings;  // what was probably not meant

  /// without_effect and others, one line each.
  std::vector<std::string> all() const;
  /// The same, with more than two keys of no effect in one line.
  std::vector<std::string> brief() const;
};

}  // namespace s2s

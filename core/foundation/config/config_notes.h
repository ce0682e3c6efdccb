#pragma once
// What a user should know about a configuration although nothing is wrong with it: keys without
// effect, and other notes.

#include <string>
#include <vector>

#include "s2s/config.h"

namespace s2s {

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

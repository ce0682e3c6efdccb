#pragma once
// Notes for the user about a valid configuration: keys without effect, likely mistakes.

#include <string>
#include <vector>

#include "s2s/config.h"

namespace s2s {

struct ConfigNotes {
  std::vector<std::string> without_effect;  // keys: "PATH (origin): REASON"
  std::vector<std::string> others;
  std::vector<std::string> warnings;  // likely mistakes

  /// One line for each entry of without_effect and others.
  std::vector<std::string> all() const;
  /// The same, but more than two keys without effect share one line.
  std::vector<std::string> brief() const;
};

}  // namespace s2s

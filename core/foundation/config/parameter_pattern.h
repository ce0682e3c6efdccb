#pragma once
// Patterns of parameter names: model.freeze_params and its kin.

#include <string>
#include <string_view>

#include "base/regex.h"
#include "s2s/config.h"

namespace s2s {

/// A regular expression that is matched at the start of names, as Python's re.match.
class ParameterPattern {
 public:
  /// `node` holds the pattern and stands at `path`. Errors: [config/pattern].
  ParameterPattern(const Config& node, std::string_view path);
  /// Errors: [config/pattern] when that takes too many steps.
  bool matches(const std::string& name) const;

 private:
  Regex regex_;
  Config node_;
  std::string path_;
};

}  // namespace s2s

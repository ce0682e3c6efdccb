#pragma once
// Patterns of parameter names, as in model.freeze_params.

#include <string>
#include <string_view>

#include "base/regex.h"
#include "s2s/config.h"

namespace s2s {

/// A regular expression, matched at the start of names as by Python's re.match.
class ParameterPattern {
 public:
  /// `node` contains the pattern, `path` is its path. Errors: [config/pattern].
  ParameterPattern(const Config& node, std::string_view path);
  /// Errors: [config/pattern] if the match takes too many steps.
  bool matches(const std::string& name) const;

 private:
  Regex regex_;
  Config node_;
  std::string path_;
};

}  // namespace s2s

#pragma once
// Patterns of parameter names: model.freeze_params and its kin.

#include <regex>
#include <string>
#include <string_view>

#include "s2s/config.h"

namespace s2s {

/// A regular expression that is matched at the start of names, as Python's re.match.
class ParameterPattern {
 public:
  /// `node` holds the pattern and stands at `path`. Errors: [config/pattern].
  ParameterPattern(const Config& node, std::string_view path);
  bool matches(const std::string& name) const;

 private:
  std::regex regex_;
};

}  // namespace s2s

#pragma once
// A Config tree to YAML text that parses back to an equal tree.

#include <string>

#include "s2s/config.h"

namespace s2s {

struct YamlStyle {
  /// Appends "# origin" to every line that holds a value.
  bool show_origins = false;
  /// The tree's interpolations are resolved: a "${" that is left is text, and is escaped.
  bool resolved = false;
};

/// Block style, two blanks of indent; lists of scalars in one line where they fit.
std::string write_yaml(const Config& config, const YamlStyle& style = {});
/// In one line, for messages and tables.
std::string write_yaml_inline(const Config& config, const YamlStyle& style = {});

/// True when both trees mean the same, wherever they come from and however they are quoted.
bool same_value(const Config& a, const Config& b);

}  // namespace s2s

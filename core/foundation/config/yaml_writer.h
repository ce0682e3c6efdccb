#pragma once
// Writes a Config tree as YAML text that parses back to an equal tree.

#include <string>

#include "s2s/config.h"

namespace s2s {

struct YamlStyle {
  /// Appends "# origin" to every line that holds a value.
  bool show_origins = false;
  /// The tree is resolved: a remaining "${" is text, and is escaped.
  bool resolved = false;
};

/// Block style, indented by two spaces. Lists of scalars are on one line if they fit.
std::string write_yaml(const Config& config, const YamlStyle& style = {});
/// On one line, for messages and tables.
std::string write_yaml_inline(const Config& config, const YamlStyle& style = {});

/// True if both trees have the same values, whatever their origins and quotes.
bool same_value(const Config& a, const Config& b);

}  // namespace s2s

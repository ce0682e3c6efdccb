#pragma once
// Parses YAML text to a Config tree with the origin of every value.

#include <string>

#include "s2s/config.h"

namespace s2s {

/// Parses one YAML document; "" is null. Anchors, aliases and merge keys (`<<`) are resolved; their
/// values keep the origin where they were written. A map's value has the origin of its key.
/// `source` is the file's path. Errors: [config/syntax], [config/duplicate-key].
Config parse_yaml(const std::string& text, const std::string& source);

/// Parses a single value without a file. Every node gets `origin`.
Config parse_yaml_value(const std::string& text, const Origin& origin);

}  // namespace s2s

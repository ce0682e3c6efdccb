#pragma once
// YAML text to a Config tree that knows where every value stands.

#include <string>

#include "s2s/config.h"

namespace s2s {

/// Parses one YAML document; "" is null. Anchors, aliases and merge keys (`<<`) are followed, and
/// what they bring keeps the origin of the place where it was written. A map's value has the origin
/// of its key. `source` is the file's path.
/// Errors: [config/syntax], [config/duplicate-key].
Config parse_yaml(const std::string& text, const std::string& source);

/// The same for a single value that has no file: every node gets `origin`.
Config parse_yaml_value(const std::string& text, const Origin& origin);

}  // namespace s2s

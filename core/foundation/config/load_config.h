#pragma once
// Loads a run's configuration: a YAML file with overrides and interpolations.

#include <string>
#include <vector>

#include "s2s/config.h"

namespace s2s {

/// Reads a file. Errors: [config/no-file] with the nearest name in its folder, [config/unreadable],
/// [config/syntax], [config/duplicate-key], [config/type] when the top level is not a map.
Config load_config(const std::string& path);

/// Applies `key=value` words in order. The values are YAML.
///   a.b.c=3      sets a value; merges a map into a map; creates missing maps
///   +a.b.c=3     the same (Hydra's spelling for a new key), as is ++a.b.c=3
///   ~a.b         removes a key or a list item
///   a.0.b=3      indexes a list (also a[0].b); the index after the last item appends
/// Unknown keys are reported later, when options are read.
/// Errors: [config/override] with the word and the reason.
void apply_overrides(Config& config, const std::vector<std::string>& overrides);

/// Replaces each `${...}`: `${a.b}` is an absolute dotted path, `${.b}` is relative to the map of
/// the value, `${..b}` to the map one level above. `${oc.env:NAME}` and `${oc.env:NAME,default}`
/// are environment variables. A value that is a single interpolation takes the target's type or
/// tree; inside longer text, the target must be a scalar. `\${` is a literal `${`. Errors:
/// [config/interpolation], [config/interpolation-cycle], [config/missing] for a `???` inside a
/// text.
void resolve_interpolations(Config& config);

/// Loads the file, applies the overrides and resolves the interpolations.
Config load_effective_config(const std::string& path, const std::vector<std::string>& overrides);

/// YAML of a resolved configuration, for the run folder. Loaded and resolved in the same
/// environment, it gives an equal tree without the secrets, which it does not contain (secrets.h).
std::string effective_text(const Config& config);

}  // namespace s2s
